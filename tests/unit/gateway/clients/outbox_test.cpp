#include "gateway/clients/outbox.hpp"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "gateway/clients/batch.hpp"
#include "gateway/clients/share.hpp"

namespace sallyport::gateway {
namespace {

class OutboxTest : public ::testing::Test {
 protected:
  Delivery delivery(std::string name) {
    return {[this, name](bool taken) { told_.push_back(name + (taken ? "+" : "-")); }, alive_};
  }
  std::string rest(Outbox& box) {
    std::string all;
    while (auto item = box.take()) {
      all += item->text + " ";
      item->delivery.done(true);
    }
    return all;
  }
  asio::io_context loop_;
  std::shared_ptr<const int> alive_ = std::make_shared<const int>(0);
  std::vector<std::string> told_;
};

TEST_F(OutboxTest, DropsProgressFirstThenNewNotesAndNoAnswer) {
  Outbox box(loop_.get_executor(), {.notes = 3});
  box.note("log1", false);
  box.note("p1", true);
  box.answer("a1", delivery("a1"));
  box.note("p2", true);
  box.note("p3", true);     // p1 goes
  box.note("log2", false);  // p2 goes
  box.note("log3", false);  // p3 goes
  box.note("log4", false);  // has no place
  box.note("p4", true);
  EXPECT_EQ(box.dropped(), 5U);
  EXPECT_EQ(rest(box), "log1 a1 log2 log3 ");
  EXPECT_EQ(told_, std::vector<std::string>{"a1+"});
  EXPECT_EQ(box.bytes(), 0U);
}

TEST_F(OutboxTest, BoundsTheBytesOfNotesButLetsOneLargePass) {
  Outbox box(loop_.get_executor(), {.note_bytes = 10});
  box.note(std::string(50, 'x'), false);
  box.note("y", false);
  EXPECT_EQ(rest(box), std::string(50, 'x') + " ");
}

TEST_F(OutboxTest, ANoteOverTheBoundOfASingleOneIsDropped) {
  Outbox box(loop_.get_executor(), {.note_bytes = 10, .note_most = 20});
  box.note(std::string(21, 'x'), false);
  box.note(std::string(20, 'y'), false);
  EXPECT_EQ(rest(box), std::string(20, 'y') + " ");
  EXPECT_EQ(box.dropped(), 1U);
}

TEST_F(OutboxTest, QuestionsHaveABoundOfTheirOwn) {
  Outbox box(loop_.get_executor(), {.notes = 1, .note_bytes = 10, .question_bytes = 6});
  box.note("log", false);
  EXPECT_TRUE(box.question("q1"));
  EXPECT_TRUE(box.question("q2"));
  EXPECT_TRUE(box.question("q3"));
  EXPECT_FALSE(box.question("q4")) << "for those who read nothing";
  EXPECT_EQ(rest(box), "log q1 q2 q3 ");
  EXPECT_EQ(box.bytes(), 0U);
  EXPECT_TRUE(box.question(std::string(50, 'q'))) << "alone, whatever its size";
  box.abandon();
  EXPECT_FALSE(box.question("q5"));
}

TEST_F(OutboxTest, AShareCountsWhatLivesAndLetsOneAlonePass) {
  Shares shares({.requests = 10, .answers = 10});
  const auto share = shares.of({.id = "a"});
  EXPECT_EQ(shares.of({.id = "a"}), share);
  EXPECT_NE(shares.of({.id = "b"}), share);
  EXPECT_EQ(shares.of({.id = "anonymous:1", .anonymous = true}), shares.of({.id = "anonymous:2", .anonymous = true}));
  auto large = Share::hold_request(share, 50);
  EXPECT_TRUE(large);
  EXPECT_FALSE(Share::hold_request(share, 1));
  EXPECT_TRUE(Share::hold_answer(share, 10)) << "counted apart";
  large = nullptr;
  const auto six = Share::hold_request(share, 6);
  EXPECT_TRUE(six);
  EXPECT_FALSE(Share::hold_request(share, 5));
  EXPECT_EQ(share->requests(), 6U);
}

TEST_F(OutboxTest, GivesUpAClientThatLetsTooMuchPileUp) {
  Outbox box(loop_.get_executor(), {.bytes = 10});
  box.answer(std::string(50, 'x'), delivery("first"));  // alone, whatever its size
  box.answer("y", delivery("second"));
  EXPECT_TRUE(box.overflowed());
  EXPECT_TRUE(box.abandoned());
  box.answer("z", delivery("third"));
  EXPECT_EQ(told_.size(), 3U);
  for (const std::string& one : told_) EXPECT_TRUE(one.ends_with('-')) << one;
  EXPECT_FALSE(box.take());
}

TEST_F(OutboxTest, AClosedBoxTakesNothingMoreButGivesWhatWaits) {
  Outbox box(loop_.get_executor());
  box.answer("a", delivery("a"));
  box.close();
  box.answer("b", delivery("b"));
  box.note("n", false);
  EXPECT_EQ(rest(box), "a ");
  EXPECT_EQ(told_, (std::vector<std::string>{"b-", "a+"}));
}

TEST_F(OutboxTest, ADeliveryTellsOnceAndNotAfterItsHearersAreGone) {
  {
    Delivery one = delivery("one");
    Delivery moved = std::move(one);
    moved.done(true);
    moved.done(false);
    Delivery replaced = delivery("two");
    replaced = delivery("three");
  }
  EXPECT_EQ(told_, (std::vector<std::string>{"one+", "two-", "three-"}));
  {
    const Delivery late = delivery("late");
    alive_.reset();
  }
  EXPECT_EQ(told_.size(), 3U);
}

class Collector final : public Reply {
 public:
  void note(std::string message, bool /*droppable*/) override { notes.push_back(std::move(message)); }
  bool ask(std::string message) override {
    notes.push_back(std::move(message));
    return true;
  }
  [[nodiscard]] bool open() const override { return true; }
  void finish(Finished answer) override { finished.push_back(std::move(answer)); }
  std::vector<std::string> notes;
  std::vector<Finished> finished;
};

TEST_F(OutboxTest, ABatchIsOneArrayOfWhatWasNotCancelled) {
  const auto whole = std::make_shared<Collector>();
  const auto parts = split_reply(whole, 3);
  parts[2]->finish({.message = "c", .cancelled = false, .delivery = delivery("c")});
  parts[0]->note("n", true);
  parts[1]->finish({.message = "b", .cancelled = true, .delivery = delivery("b")});
  EXPECT_TRUE(whole->finished.empty());
  parts[0]->finish({.message = "a", .cancelled = false, .delivery = delivery("a")});
  ASSERT_EQ(whole->finished.size(), 1U);
  EXPECT_EQ(whole->finished[0].message, "[c,a]");
  EXPECT_EQ(whole->notes, std::vector<std::string>{"n"});
  EXPECT_EQ(told_, std::vector<std::string>{"b-"});
  whole->finished[0].delivery.done(true);
  EXPECT_EQ(told_, (std::vector<std::string>{"b-", "c+", "a+"}));
}

TEST_F(OutboxTest, ABatchWhoseRequestsWereAllCancelledWantsNoAnswer) {
  const auto whole = std::make_shared<Collector>();
  split_reply(whole, 1)[0]->finish({.message = "a", .cancelled = true, .delivery = delivery("a")});
  ASSERT_EQ(whole->finished.size(), 1U);
  EXPECT_TRUE(whole->finished[0].cancelled);
  EXPECT_EQ(told_, std::vector<std::string>{"a-"});
}

}  // namespace
}  // namespace sallyport::gateway
