#include "trust/receipts/notes.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/trust/helpers.hpp"
#include "trust/receipts/merkle.hpp"

namespace sallyport::trust {
namespace {

struct Read {
  std::vector<std::string> notes;
  std::size_t torn = 0;
};

Read read(std::string_view text, std::size_t piece = 1000) {
  Read out;
  NoteReader reader([&](std::string note) { out.notes.push_back(std::move(note)); });
  for (std::size_t at = 0; at < text.size(); at += piece) reader.feed(text.substr(at, piece));
  reader.finish();
  out.torn = reader.torn();
  return out;
}

std::string note(std::uint64_t size) {
  auto key = test::test_key(9);
  return sign_checkpoint({"sallyport.dev/0123456789abcdef", size, leaf_hash("x")}, key);
}

TEST(NoteReader, FindsTheNotesOfAText) {
  const std::vector<std::string> wanted{note(1), note(2), note(3)};
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{10'000}}) {
    EXPECT_EQ(read(note(1) + note(2) + note(3), piece).notes, wanted);
    EXPECT_EQ(read("\n\n" + note(1) + "\n" + note(2) + "\n\n" + note(3), piece).notes, wanted);
  }
  EXPECT_TRUE(read("").notes.empty());
}

TEST(NoteReader, GoesOnBehindWhatWasCutOff) {
  const std::string whole = note(1), next = note(2);
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const auto found = read(whole.substr(0, size) + "\n" + next);
    ASSERT_FALSE(found.notes.empty()) << size;
    EXPECT_EQ(found.notes.back(), next) << size;
    // At the end, what was cut off is none.
    for (const auto& one : read(next + whole.substr(0, size)).notes) EXPECT_EQ(one, next) << size;
  }
  EXPECT_EQ(read(whole.substr(0, 40)).torn, 1U);
}

TEST(NoteReader, SurvivesLongLines) {
  const auto found = read(std::string(1U << 20U, 'x') + "\n" + note(1));
  EXPECT_EQ(found.notes, std::vector{note(1)});
}

}  // namespace
}  // namespace sallyport::trust
