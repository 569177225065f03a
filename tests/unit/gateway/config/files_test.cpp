#include "gateway/config/files.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gateway/config/env_file.hpp"
#include "gateway/config/locate.hpp"
#include "gateway/config/sources.hpp"
#include "tests/unit/gateway/config/fake_files.hpp"

namespace sallyport::gateway {
namespace {

class SystemFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "sallyport-config-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const std::string& text, unsigned mode) const {
    std::ofstream(path(name)) << text;
    ::chmod(path(name).c_str(), mode);
  }

  std::string folder_;
  SystemFiles files_;
};

TEST_F(SystemFilesTest, ReadsARegularFileOfOurs) {
  write("a", "text", 0600);
  const auto text = files_.read(path("a"), 100);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(text->bytes, "text");
  EXPECT_EQ(text->others_may_write, "");
  EXPECT_EQ(files_.kind(path("a")), FileReader::Kind::file);
  EXPECT_EQ(files_.kind(folder_), FileReader::Kind::folder);
  EXPECT_EQ(files_.kind(path("b")), FileReader::Kind::missing);
}

TEST_F(SystemFilesTest, SaysWhoElseMayWriteAFileOrItsFolder) {
  write("a", "text", 0606);
  EXPECT_NE(files_.read(path("a"), 100)->others_may_write.find("everybody"), std::string::npos);
  write("b", "text", 0600);
  ::chmod(folder_.c_str(), 0777);
  EXPECT_NE(files_.read(path("b"), 100)->others_may_write.find("which may be written by everybody"), std::string::npos);
  ::mkdir(path("closed").c_str(), 0700);
  ASSERT_EQ(::symlink("../b", path("closed/link").c_str()), 0);
  EXPECT_NE(files_.read(path("closed/link"), 100)->others_may_write.find("which may be written"), std::string::npos);
  ::chmod(folder_.c_str(), 01777);
  EXPECT_EQ(files_.read(path("b"), 100)->others_may_write, "");
}

TEST_F(SystemFilesTest, LooksAtTheFolderOfALinkToo) {
  ::mkdir(path("real").c_str(), 0700);
  ::mkdir(path("open").c_str(), 0700);
  write("real/a", "text", 0600);
  ASSERT_EQ(::symlink("../real/a", path("open/link").c_str()), 0);
  EXPECT_EQ(files_.read(path("open/link"), 100)->others_may_write, "");
  ::chmod(path("open").c_str(), 0777);
  EXPECT_NE(files_.read(path("open/link"), 100)->others_may_write.find("/open`, which may be written"),
            std::string::npos);
}

TEST_F(SystemFilesTest, RefusesWhatIsMissingTooLargeOrNoFile) {
  EXPECT_EQ(files_.read(path("none"), 100).error().code, ErrorCode::not_found);
  write("a", "text", 0600);
  EXPECT_EQ(files_.read(path("a"), 3).error().code, ErrorCode::limit);
  EXPECT_EQ(files_.read(folder_, 100).error().code, ErrorCode::io);
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(files_.read(path("fifo"), 100).error().code, ErrorCode::io);
}

TEST_F(SystemFilesTest, WritesAWholeFileOrNothing) {
  ASSERT_TRUE(atomic_write(path("a"), "one", 0644));
  ASSERT_TRUE(atomic_write(path("a"), "two", 0600));
  EXPECT_EQ(files_.read(path("a"), 100)->bytes, "two");
  struct stat facts{};
  ASSERT_EQ(::stat(path("a").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
  EXPECT_EQ(files_.list(folder_).value(), std::vector<std::string>{"a"});
  EXPECT_FALSE(atomic_write(path("none/a"), "x", 0600));
  ::mkdir(path("folder").c_str(), 0700);
  EXPECT_FALSE(atomic_write(path("folder"), "x", 0600));
  EXPECT_EQ(files_.list(folder_).value(), (std::vector<std::string>{"a", "folder"}));
}

TEST_F(SystemFilesTest, WritesThroughALink) {
  write("real", "one", 0600);
  ASSERT_EQ(::symlink("real", path("link").c_str()), 0);
  ASSERT_TRUE(atomic_write(path("link"), "two", 0600));
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(files_.read(path("real"), 100)->bytes, "two");
}

TEST(ResolvePath, CountsFromTheFolder) {
  EXPECT_EQ(resolve_path("/a/b", "c"), "/a/b/c");
  EXPECT_EQ(resolve_path("/a/b", "../c/"), "/a/c");
  EXPECT_EQ(resolve_path("/a/b", "/c//d/."), "/c/d");
  EXPECT_EQ(resolve_path("/a/b", "."), "/a/b");
  EXPECT_EQ(folder_of("/a/b"), "/a");
  EXPECT_EQ(folder_of("b"), ".");
}

TEST(EnvFile, ReadsTheFormsPeopleWrite) {
  const auto values = parse_env_file(
      "\xEF\xBB\xBF# top\r\nA=1\r\n\nexport B = \"a\\n\\\"b\\\"\" # c\nC='x # \\n'\nD=x#y # z\nE=\nF=a=b\nG=#c\n");
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_EQ(values->at("A"), "1");
  EXPECT_EQ(values->at("B"), "a\n\"b\"");
  EXPECT_EQ(values->at("C"), "x # \\n");
  EXPECT_EQ(values->at("D"), "x#y");
  EXPECT_EQ(values->at("E"), "");
  EXPECT_EQ(values->at("F"), "a=b");
  EXPECT_EQ(values->at("G"), "");
}

TEST(EnvFile, NamesTheLineAndNeverItsText) {
  for (const std::string_view text :
       {"A=1\nCANARY", "A=1\n=CANARY", "A=1\nB=\"CANARY", "A=1\nB='x' CANARY", "A=1\n1B=CANARY"}) {
    const auto values = parse_env_file(text);
    ASSERT_FALSE(values) << text;
    EXPECT_NE(values.error().message.find("line 2"), std::string::npos);
    EXPECT_EQ(values.error().message.find("CANARY"), std::string::npos);
  }
  EXPECT_FALSE(parse_env_file(std::string_view("A=\0", 3)));
}

TEST(Locate, LooksInTheUsersThenTheSystemsFolderAndNowhereElse) {
  FakeFiles files;
  const auto environment = environment_of({{"HOME", "/home/me"}, {"XDG_CONFIG_HOME", "relative"}});
  files.files["/work/sallyport.jsonc"] = "{}";
  const auto missing = find_config(std::nullopt, "/work", environment, files);
  ASSERT_FALSE(missing);
  EXPECT_NE(
      missing.error().message.find("`/home/me/.config/sallyport/sallyport.jsonc` and `/etc/sallyport/sallyport.jsonc`"),
      std::string::npos);
  files.files["/etc/sallyport/sallyport.jsonc"] = "{}";
  EXPECT_EQ(find_config(std::nullopt, "/work", environment, files).value(), "/etc/sallyport/sallyport.jsonc");
  files.files["/home/me/.config/sallyport/sallyport.jsonc"] = "{}";
  EXPECT_EQ(find_config(std::nullopt, "/work", environment, files).value(),
            "/home/me/.config/sallyport/sallyport.jsonc");
  EXPECT_EQ(find_config("a.jsonc", "/work", environment, files).value(), "/work/a.jsonc");
}

TEST(Locate, KnowsWhereStateBelongs) {
  EXPECT_EQ(default_state_dir(environment_of({{"HOME", "/home/me"}}), false), "/home/me/.local/state/sallyport");
  EXPECT_EQ(default_state_dir(environment_of({{"XDG_STATE_HOME", "/s"}}), false), "/s/sallyport");
  EXPECT_EQ(default_state_dir(environment_of({{"HOME", "/root"}}), true), "/var/lib/sallyport");
  EXPECT_EQ(default_state_dir(environment_of({{"STATE_DIRECTORY", "/a:/b"}}), true), "/a");
  EXPECT_EQ(default_state_dir(environment_of({}), false), "");
}

TEST(ReadSources, ReadsFilesFoldersInlineTextAndTheLock) {
  FakeFiles files;
  files.files["/c/t.jsonc"] = "{}";
  files.files["/c/p/b.jsonc"] = "{} // b";
  files.files["/c/p/a.json"] = "{}";
  files.files["/c/p/.hidden.json"] = "{";
  files.files["/c/p/notes.txt"] = "x";
  files.files["/c/p/trust.lock.json"] = "{}";
  Settings settings;
  settings.file = "/c/sallyport.jsonc";
  settings.lock_file = "/c/p/trust.lock.json";
  settings.trust_files = {"/c/t.jsonc"};
  settings.policy_files = {"/c/p"};
  settings.policy_inline = "{}";
  const LoadedSources loaded = read_sources(settings, files);
  EXPECT_TRUE(loaded.faults.empty());
  ASSERT_EQ(loaded.sources.policy.size(), 3U);
  EXPECT_EQ(loaded.sources.policy[0].name, "/c/sallyport.jsonc");
  EXPECT_EQ(loaded.sources.policy[1].name, "/c/p/a.json");
  EXPECT_EQ(loaded.sources.policy[2].name, "/c/p/b.jsonc");
  EXPECT_EQ(loaded.sources.lock, "{}");
}

TEST(ReadSources, NamesEveryFileThatIsMissingBrokenOrOpenToOthers) {
  FakeFiles files;
  files.files["/c/a"] = "{";
  files.files["/c/b"] = "{}";
  files.files["/c/lock"] = "{}";
  files.files["/c/empty/x.txt"] = "";
  files.writers["/c/b"] = "may be written by everybody";
  files.writers["/c/lock"] = "may be written by everybody";
  Settings settings;
  settings.lock_file = "/c/lock";
  settings.trust_files = {"/c/a", "/c/b", "/c/none", "/c/empty"};
  const LoadedSources loaded = read_sources(settings, files);
  EXPECT_EQ(loaded.faults.size(), 5U);
  EXPECT_TRUE(has_errors(loaded.faults));
  settings.lock_file = "/c/nothing";
  EXPECT_EQ(read_sources(settings, files).faults.size(), 4U);
}

}  // namespace
}  // namespace sallyport::gateway
