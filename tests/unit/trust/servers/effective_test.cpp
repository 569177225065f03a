#include "trust/servers/effective.hpp"

#include "tests/unit/trust/helpers.hpp"

namespace sallyport::trust {
namespace {

using Maybe = std::optional<bool>;
constexpr Maybe kAnswers[] = {std::nullopt, false, true};

Contract contract(std::optional<EffectCategory> category, Maybe destructive = {}, std::optional<Repeat> repeat = {}) {
  Contract out;
  out.terms.category = category;
  out.terms.destructive = destructive;
  out.terms.repeat = repeat;
  return out;
}

constexpr TrustHints kAll{true, true, true, true};

// How much an effect lets through: smaller is stricter. `unrated` counts as every category for what tightens.
bool no_looser(const Effect& a, const Effect& b) {
  const bool category = a.category == b.category || a.category == EffectCategory::unrated;
  return category && a.destructive >= b.destructive && a.repeat >= b.repeat;
}

TEST(Effective, OfAToolThatNobodySpeaksOfIsUnratedDestructiveAndNeverRepeated) {
  const auto view = effective(nullptr, {}, {}, true, true);
  EXPECT_EQ(view.effective, (Effect{EffectCategory::unrated, true, Repeat::never, {}}));
  EXPECT_EQ(view.source, EffectSource::none);
  EXPECT_FALSE(view.assigned);
}

TEST(Effective, BelievesReadOnlyHintOnlyWhereItIsTrustedPinnedAndIdentified) {
  const Hints hints{true, {}, {}, {}};
  TrustHints trust;
  trust.read_only = true;
  const auto view = effective(nullptr, hints, trust, true, true);
  EXPECT_EQ(view.effective, (Effect{EffectCategory::read, false, Repeat::safe, {}}));
  EXPECT_EQ(view.source, EffectSource::hints);
  EXPECT_EQ(view.declared, hints);
  const Effect nothing{EffectCategory::unrated, true, Repeat::never, {}};
  EXPECT_EQ(effective(nullptr, hints, {}, true, true).effective, nothing);
  EXPECT_EQ(effective(nullptr, hints, trust, false, true).effective, nothing);
  EXPECT_EQ(effective(nullptr, hints, trust, true, false).effective, nothing);
}

TEST(Effective, BelievesNothingOfAContradiction) {
  const Hints hints{true, true, true, {}};
  EXPECT_EQ(effective(nullptr, hints, kAll, true, true).effective,
            (Effect{EffectCategory::unrated, true, Repeat::never, {}}));
}

TEST(Effective, TakesTheContractMemberByMember) {
  const auto read = contract(EffectCategory::read);
  EXPECT_EQ(effective(&read, {false, {}, {}, {}}, {}, false, true).effective,
            (Effect{EffectCategory::read, false, Repeat::safe, {}}));
  const auto file = contract(EffectCategory::file);
  EXPECT_EQ(effective(&file, {true, {}, {}, {}}, kAll, true, true).effective.category, EffectCategory::file);
  EXPECT_EQ(effective(&file, {}, {}, true, true).effective, (Effect{EffectCategory::file, true, Repeat::never, {}}));
  const auto calm = contract(EffectCategory::record, false, Repeat::keyed);
  EXPECT_EQ(effective(&calm, {false, true, false, true}, {}, true, true).effective,
            (Effect{EffectCategory::record, false, Repeat::keyed, {}}));
  EXPECT_EQ(effective(&calm, {}, {}, true, true).source, EffectSource::contract);
}

TEST(Effective, FillsWhatTheContractLeavesUnsaidFromHonouredHints) {
  const auto record = contract(EffectCategory::record);
  TrustHints trust;
  trust.destructive = true;
  EXPECT_FALSE(effective(&record, {{}, false, {}, {}}, trust, true, true).effective.destructive);
  EXPECT_TRUE(effective(&record, {{}, false, {}, {}}, {}, true, true).effective.destructive);
  TrustHints retry;
  retry.retry_idempotent = true;
  EXPECT_EQ(effective(&record, {{}, {}, true, {}}, retry, true, true).effective.repeat, Repeat::safe);
  EXPECT_EQ(effective(&record, {{}, {}, true, {}}, kAll, false, true).effective.repeat, Repeat::never);
  TrustHints permission{true, true, false, false};
  EXPECT_EQ(effective(&record, {{}, {}, true, {}}, permission, true, true).effective.repeat, Repeat::never);
}

TEST(Effective, LetsUnprovenHintsTightenWhatTheContractLeavesUnsaid) {
  const auto read = contract(EffectCategory::read);
  const auto view = effective(&read, {{}, true, false, {}}, {}, false, true);
  EXPECT_EQ(view.effective, (Effect{EffectCategory::read, true, Repeat::never, {}}));
  const auto said = contract(EffectCategory::read, false, Repeat::safe);
  EXPECT_EQ(effective(&said, {{}, true, false, {}}, {}, false, true).effective,
            (Effect{EffectCategory::read, false, Repeat::safe, {}}));
}

TEST(Effective, KeepsOnlyLabelsOfAContractWithoutIdentity) {
  auto read = contract(EffectCategory::read, false, Repeat::safe);
  read.terms.labels = {"money"};
  const auto view = effective(&read, {}, kAll, true, false);
  EXPECT_EQ(view.effective, (Effect{EffectCategory::unrated, true, Repeat::never, {"money"}}));
  EXPECT_EQ(view.assigned, EffectCategory::read);
  EXPECT_EQ(view.source, EffectSource::none);
}

// Every combination of hints, trust, pinning, identity and contract.
template <class Use>
void each_setting(Use use) {
  std::vector<std::optional<Contract>> contracts{std::nullopt, contract({})};
  for (const auto category :
       {EffectCategory::read, EffectCategory::file, EffectCategory::record, EffectCategory::external}) {
    for (const auto destructive : kAnswers) {
      contracts.push_back(contract(category, destructive));
      contracts.push_back(contract(category, destructive, Repeat::safe));
      contracts.push_back(contract(category, destructive, Repeat::never));
    }
  }
  for (const auto& entry : contracts) {
    for (unsigned bits = 0; bits < 64; ++bits) {
      const TrustHints trust{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0};
      use(entry ? &*entry : nullptr, trust, (bits & 16) != 0, (bits & 32) != 0);
    }
  }
}

TEST(Effective, IsNeverLoosenedByAHintThatIsNotHonoured) {
  each_setting([](const Contract* entry, const TrustHints& trust, bool pinned, bool identity) {
    const auto silent = effective(entry, {}, trust, pinned, identity).effective;
    for (const auto read : kAnswers) {
      for (const auto destructive : kAnswers) {
        for (const auto idempotent : kAnswers) {
          for (const auto open : kAnswers) {
            const Hints hints{read, destructive, idempotent, open};
            const bool read_honoured = trust.read_only || trust.retry_read_only;
            const bool honoured = pinned && identity &&
                                  ((read == true && read_honoured) || (destructive == false && trust.destructive) ||
                                   (idempotent == true && trust.retry_idempotent));
            const auto told = effective(entry, hints, trust, pinned, identity).effective;
            if (!honoured) {
              EXPECT_TRUE(no_looser(told, silent));
            }
            // openWorldHint decides nothing.
            EXPECT_EQ(told, effective(entry, {read, destructive, idempotent, {}}, trust, pinned, identity).effective);
          }
        }
      }
    }
  });
}

TEST(Effective, FollowsTheContractWhateverTheHints) {
  each_setting([](const Contract* entry, const TrustHints& trust, bool pinned, bool identity) {
    if (entry == nullptr || !identity) return;
    for (const auto read : kAnswers) {
      for (const auto destructive : kAnswers) {
        const auto view = effective(entry, {read, destructive, {}, {}}, trust, pinned, identity);
        if (entry->terms.category) EXPECT_EQ(view.effective.category, *entry->terms.category);
        if (entry->terms.destructive) EXPECT_EQ(view.effective.destructive, *entry->terms.destructive);
        if (entry->terms.repeat) EXPECT_EQ(view.effective.repeat, *entry->terms.repeat);
      }
    }
  });
}

// For every combination: what loosens stands there on somebody's word alone, and only labels that the operator wrote
// do.
TEST(Effective, LoosensOnlyOnTheWordOfTheContractOrOfAnHonouredHint) {
  each_setting([](const Contract* entry, const TrustHints& trust, bool pinned, bool identity) {
    const EffectTerms said = entry != nullptr ? entry->terms : EffectTerms{};
    for (const auto read : kAnswers) {
      for (const auto destructive : kAnswers) {
        for (const auto idempotent : kAnswers) {
          const auto view = effective(entry, {read, destructive, idempotent, {}}, trust, pinned, identity);
          const Effect& now = view.effective;
          const bool heard = pinned && identity && !(read == true && destructive == true);
          const bool rated_by_hint = heard && trust.read_only && read == true;
          EXPECT_EQ(now.labels, said.labels.value_or(std::vector<std::string>{}));
          if (now.category != EffectCategory::unrated) {
            EXPECT_TRUE(identity && (said.category ? now.category == *said.category
                                                   : rated_by_hint && now.category == EffectCategory::read));
          }
          const bool reads = now.category == EffectCategory::read;
          const bool calm = reads || (heard && trust.destructive && destructive == false);
          if (!now.destructive) {
            EXPECT_TRUE(said.destructive ? !*said.destructive : calm);
          }
          const bool repeatable =
              reads ||
              (heard && ((trust.retry_idempotent && idempotent == true) || (trust.retry_read_only && read == true)));
          if (now.repeat == Repeat::safe) {
            EXPECT_TRUE(said.repeat ? *said.repeat == Repeat::safe : repeatable);
          }
          EXPECT_EQ(view.source, !identity || now.category == EffectCategory::unrated ? EffectSource::none
                                 : said.category                                      ? EffectSource::contract
                                                                                      : EffectSource::hints);
        }
      }
    }
  });
}

TEST(Tighten, TakesTheStricterOfEachMemberAndLoosensNothing) {
  for (const bool destructive : {false, true}) {
    for (const bool other_destructive : {false, true}) {
      for (const Repeat repeat : {Repeat::never, Repeat::keyed, Repeat::safe}) {
        for (const Repeat other_repeat : {Repeat::never, Repeat::keyed, Repeat::safe}) {
          EffectView view, other;
          view.effective = {EffectCategory::record, destructive, repeat, {}};
          other.effective = {EffectCategory::read, other_destructive, other_repeat, {}};
          tighten(view, other);
          EXPECT_EQ(view.effective.category, EffectCategory::record);
          EXPECT_EQ(view.effective.destructive, destructive || other_destructive);
          EXPECT_EQ(view.effective.repeat, other_repeat == Repeat::never ? Repeat::never : repeat);
        }
      }
    }
  }
}

TEST(ApplyCase, StartsAfreshFromTheEffectThatItNames) {
  const auto file = contract(EffectCategory::file, true, Repeat::never);
  auto view = effective(&file, {{}, true, {}, {}}, {}, true, true);
  EffectTerms dry_run;
  dry_run.category = EffectCategory::read;
  EXPECT_EQ(apply_case(view, dry_run).effective, (Effect{EffectCategory::read, false, Repeat::safe, {}}));
  EXPECT_EQ(apply_case(view, dry_run).source, EffectSource::contract);

  const auto read = contract(EffectCategory::read, false, Repeat::safe);
  view = effective(&read, {}, {}, true, true);
  EffectTerms publish;
  publish.category = EffectCategory::external;
  EXPECT_EQ(apply_case(view, publish).effective, (Effect{EffectCategory::external, true, Repeat::never, {}}));
}

TEST(ApplyCase, KeepsWhatItDoesNotName) {
  auto record = contract(EffectCategory::record, false, Repeat::keyed);
  record.terms.labels = {"money"};
  const auto view = effective(&record, {}, {}, true, true);
  EffectTerms only_destructive;
  only_destructive.destructive = true;
  EXPECT_EQ(apply_case(view, only_destructive).effective,
            (Effect{EffectCategory::record, true, Repeat::keyed, {"money"}}));
  EffectTerms effect_only;
  effect_only.category = EffectCategory::file;
  EXPECT_EQ(apply_case(view, effect_only).effective.labels, std::vector<std::string>{"money"});
  EffectTerms labels;
  labels.labels = {"code"};
  EXPECT_EQ(apply_case(view, labels).effective.labels, std::vector<std::string>{"code"});
}

TEST(HintsOf, CountsOnlyBooleans) {
  const auto tool =
      test::doc(R"({"name":"x","annotations":{"readOnlyHint":true,"destructiveHint":"no","idempotentHint":null}})");
  EXPECT_EQ(hints_of(tool.root()), (Hints{true, {}, {}, {}}));
  EXPECT_EQ(hints_of(test::doc(R"({"name":"x"})").root()), Hints{});
  EXPECT_EQ(hints_of(test::doc(R"({"annotations":[true]})").root()), Hints{});
  EXPECT_EQ(hints_of({}), Hints{});
}

TEST(Annotations, ForClientsAreTheEffectiveOnesOrNone) {
  EXPECT_FALSE(annotations_for_clients({}, {}));
  const auto read = contract(EffectCategory::read);
  EXPECT_EQ(annotations_for_clients(effective(&read, {}, {}, true, true), {}),
            R"({"destructiveHint":false,"idempotentHint":true,"readOnlyHint":true})");
  const auto mail = contract(EffectCategory::external, false);
  EXPECT_EQ(annotations_for_clients(effective(&mail, {}, {}, true, true), {}),
            R"({"destructiveHint":false,"idempotentHint":false,"openWorldHint":true,"readOnlyHint":false})");
}

TEST(Effective, KeepsTheTitleThatTheServerGaveAndNoHintOfIts) {
  const auto declared = test::doc(R"({"title":"Send \u0061 letter","readOnlyHint":true,"x":1})");
  EXPECT_EQ(annotations_for_clients({}, declared.root()), R"({"title":"Send \u0061 letter"})");
  const auto mail = contract(EffectCategory::external);
  EXPECT_EQ(
      annotations_for_clients(effective(&mail, {}, {}, true, true), declared.root()),
      R"({"destructiveHint":true,"idempotentHint":false,"openWorldHint":true,"readOnlyHint":false,"title":"Send \u0061 letter"})");
  EXPECT_EQ(effect_for_clients(effective(&mail, {}, {}, true, true)),
            R"({"category":"external","destructive":true,"repeat":"never","source":"contract"})");
}

}  // namespace
}  // namespace sallyport::trust
