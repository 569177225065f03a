// The file watch: what editors, deployments and people do to a file is seen; what does not concern it is not.
#include "gateway/base/file_watch.hpp"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>

#include "tests/support/temp_dir.hpp"

namespace sallyport::gateway {
namespace {

namespace fs = std::filesystem;

class FileWatchTest : public ::testing::Test {
 protected:
  FileWatchTest() {
    fs::create_directory(dir_.file("rules"));
    write("policy.jsonc");
    write("rules/a.jsonc");
  }
  void write(const std::string& name) { std::ofstream(dir_.file(name)) << ++text_; }
  void watch(const std::vector<std::string>& names) {
    std::vector<std::string> paths;
    for (const std::string& name : names) paths.push_back(dir_.file(name));
    ASSERT_TRUE(watch_.watch(paths));
  }
  // Runs the loop until the watch has told of something; false: it did not for as long as that takes.
  bool told(std::chrono::milliseconds most = std::chrono::seconds(10)) {
    const int before = calls_;
    const auto end = std::chrono::steady_clock::now() + most;
    while (calls_ == before && std::chrono::steady_clock::now() < end) {
      io_.restart();
      io_.run_one_for(std::chrono::milliseconds(20));
    }
    return calls_ > before;
  }

  test::TempDir dir_;
  boost::asio::io_context io_{1};
  int calls_ = 0;
  int text_ = 0;
  FileWatch watch_{io_.get_executor(), [this] { ++calls_; }, Millis(10)};
};

TEST_F(FileWatchTest, SeesAFileWrittenReplacedRemovedAndMadeAgain) {
  watch({"policy.jsonc"});
  write("policy.jsonc");
  EXPECT_TRUE(told()) << "written";
  write("policy.new");
  fs::rename(dir_.file("policy.new"), dir_.file("policy.jsonc"));
  EXPECT_TRUE(told()) << "replaced";
  fs::permissions(dir_.file("policy.jsonc"), fs::perms::owner_read | fs::perms::owner_write | fs::perms::others_write);
  EXPECT_TRUE(told()) << "its rights changed";
  fs::remove(dir_.file("policy.jsonc"));
  EXPECT_TRUE(told()) << "removed";
  write("policy.jsonc");
  EXPECT_TRUE(told()) << "made again";
}

TEST_F(FileWatchTest, ManyChangesAtOnceAreToldOnceAndOthersNot) {
  watch({"policy.jsonc"});
  for (int i = 0; i < 50; ++i) write("other.jsonc");
  write("policy.jsonc");  // what came before would be told with it, or not at all
  EXPECT_TRUE(told());
  EXPECT_FALSE(told(std::chrono::milliseconds(100)));
  EXPECT_EQ(calls_, 1);
  for (int i = 0; i < 50; ++i) write("other.jsonc");
  EXPECT_FALSE(told(std::chrono::milliseconds(100)));
}

TEST_F(FileWatchTest, WhatWasNotReadYetSurvivesAnotherWatch) {
  watch({"policy.jsonc"});
  write("policy.jsonc");  // while the loop is busy with what came before, and then watches anew
  watch({"policy.jsonc", "rules"});
  EXPECT_TRUE(told());
  write("rules/a.jsonc");
  watch({"policy.jsonc"});
  write("rules/a.jsonc");
  EXPECT_FALSE(told(std::chrono::milliseconds(100))) << "nobody watches that any more";
}

TEST_F(FileWatchTest, SeesTheFilesOfAFolder) {
  watch({"rules"});
  write("rules/b.jsonc");
  EXPECT_TRUE(told());
  fs::remove(dir_.file("rules/a.jsonc"));
  EXPECT_TRUE(told());
  write("rules/b.jsonc.swp");
  EXPECT_FALSE(told(std::chrono::milliseconds(100))) << "what no load reads";
}

// As containers mount their configuration: the file is a link through a link that is swapped.
TEST_F(FileWatchTest, SeesALinkThatIsSwapped) {
  for (const char* folder : {"one", "two"}) {
    fs::create_directory(dir_.file(folder));
    write(std::string(folder) + "/policy.jsonc");
  }
  fs::create_directory_symlink(dir_.file("one"), dir_.file("data"));
  fs::create_symlink("data/policy.jsonc", dir_.file("linked.jsonc"));
  watch({"linked.jsonc"});
  write("one/policy.jsonc");
  EXPECT_TRUE(told()) << "written behind the link";
  fs::create_directory_symlink(dir_.file("two"), dir_.file("data.new"));
  fs::rename(dir_.file("data.new"), dir_.file("data"));
  EXPECT_TRUE(told()) << "swapped";
}

TEST_F(FileWatchTest, SaysWhatItCannotWatchAndWatchesTheRest) {
  const Status watched = watch_.watch({dir_.file("policy.jsonc"), "/nowhere/at/all/policy.jsonc"});
  ASSERT_FALSE(watched);
  EXPECT_NE(watched.error().message.find("/nowhere/at/all"), std::string::npos) << watched.error().message;
  write("policy.jsonc");
  EXPECT_TRUE(told());
}

}  // namespace
}  // namespace sallyport::gateway
