#include "gateway/storage/state_folder.hpp"

#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/component/storage/store_fixture.hpp"

namespace sallyport::test {
namespace {

mode_t mode_of(const std::string& path) {
  struct stat info{};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

class StateFolderTest : public ::testing::Test {
 protected:
  Result<StateFolder> own() { return StateFolder::own(path_, "sallyport serve --config x", system_entropy()); }
  TempFolder folder_;
  std::string path_ = folder_.file("deep/er/state");
};

TEST_F(StateFolderTest, IsMadeForItsUserAlone) {
  const Result<StateFolder> state = own();
  ASSERT_OK(state);
  EXPECT_EQ(mode_of(path_), 0700U);
  for (const char* key : {"receipts.key", "checkpoint.key", "store.key", "fingerprint.key", "lock"}) {
    EXPECT_EQ(mode_of(state->file(key)), 0600U) << key;
  }
  const Result<trust::SigningKey> key = state->receipt_key();
  ASSERT_OK(key);
  EXPECT_EQ(slurp(state->file("receipts.pub")), key->public_key().pem());
  EXPECT_EQ(state->store_key().reveal().size(), 32U);
  EXPECT_NE(state->store_key().reveal(), state->fingerprint_key().reveal());
}

TEST_F(StateFolderTest, KeepsItsKeys) {
  std::string first;
  {
    const Result<StateFolder> state = own();
    ASSERT_OK(state);
    first = state->receipt_key()->keyid();
  }
  std::filesystem::remove(path_ + "/receipts.pub");
  const Result<StateFolder> state = own();
  ASSERT_OK(state);
  EXPECT_EQ(state->receipt_key()->keyid(), first);
  EXPECT_TRUE(std::filesystem::exists(path_ + "/receipts.pub"));
}

TEST_F(StateFolderTest, ASecondOwnerIsRefusedAndToldTheFirst) {
  const Result<StateFolder> first = own();
  ASSERT_OK(first);
  const Result<StateFolder> second = own();
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::conflict);
  EXPECT_NE(second.error().message.find(std::to_string(::getpid())), std::string::npos) << second.error().message;
  EXPECT_NE(second.error().message.find("sallyport serve --config x"), std::string::npos) << second.error().message;
  const std::optional<StateOwner> owner = StateFolder::owner(path_);
  ASSERT_TRUE(owner.has_value());
  EXPECT_EQ(owner->pid, ::getpid());
  EXPECT_EQ(owner->command, "sallyport serve --config x");
  const Result<StateFolder> looked = StateFolder::look(path_);
  ASSERT_OK(looked);
  EXPECT_FALSE(looked->owned());
}

TEST_F(StateFolderTest, AnotherProcessIsRefusedTooAndTheLockEndsWithItsOwner) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const Result<StateFolder> state = own();
    const char told = state ? 'y' : 'n';
    if (::write(ready[1], &told, 1) != 1) ::_exit(2);
    ::pause();
    ::_exit(0);
  }
  char told = 0;
  ASSERT_EQ(::read(ready[0], &told, 1), 1);
  ASSERT_EQ(told, 'y');
  const Result<StateFolder> refused = own();
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find(std::to_string(child)), std::string::npos) << refused.error().message;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(StateFolder::owner(path_).has_value());
  EXPECT_TRUE(own().has_value());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(StateFolderTest, IsFreeAgainWhenTheOwnerLetsGo) {
  {
    ASSERT_OK(own());
  }
  EXPECT_FALSE(StateFolder::owner(path_).has_value());
  EXPECT_FALSE(StateFolder::owner(folder_.file("none")).has_value());
  ASSERT_OK(own());
}

TEST_F(StateFolderTest, OneThatOthersCanLookIntoIsRefused) {
  {
    ASSERT_OK(own());
  }
  ASSERT_EQ(::chmod(path_.c_str(), 0750), 0);
  const Result<StateFolder> state = own();
  ASSERT_FALSE(state.has_value());
  EXPECT_EQ(state.error().code, ErrorCode::forbidden);
  EXPECT_NE(state.error().message.find("chmod 700"), std::string::npos);
  EXPECT_FALSE(StateFolder::look(path_).has_value());
}

TEST_F(StateFolderTest, AKeyThatOthersCanReadIsRefused) {
  for (const char* key : {"receipts.key", "checkpoint.key", "store.key", "fingerprint.key"}) {
    {
      ASSERT_OK(own());
    }
    ASSERT_EQ(::chmod((path_ + "/" + key).c_str(), 0640), 0);
    const Result<StateFolder> state = own();
    ASSERT_FALSE(state.has_value()) << key;
    EXPECT_EQ(state.error().code, ErrorCode::forbidden);
    EXPECT_NE(state.error().message.find(key), std::string::npos);
    ASSERT_EQ(::chmod((path_ + "/" + key).c_str(), 0600), 0);
  }
}

TEST_F(StateFolderTest, ABrokenKeyIsRefused) {
  const auto replace = [&](const char* key, const std::string& text) {
    std::ofstream(path_ + "/" + key, std::ios::trunc) << text;
  };
  {
    ASSERT_OK(own());
  }
  const std::string good = slurp(path_ + "/store.key");
  for (const std::string& text :
       {std::string(), std::string("zz"), good.substr(2), good + good, std::string(70'000, 'a')}) {
    replace("store.key", text);
    EXPECT_FALSE(own().has_value()) << text.substr(0, 80);
  }
  replace("store.key", good);
  replace("receipts.key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
  EXPECT_FALSE(own().has_value());
}

TEST_F(StateFolderTest, AKeyBehindALinkIsRefused) {
  {
    ASSERT_OK(own());
  }
  std::filesystem::rename(path_ + "/store.key", folder_.file("elsewhere"));
  std::filesystem::create_symlink(folder_.file("elsewhere"), path_ + "/store.key");
  EXPECT_FALSE(own().has_value());
}

TEST_F(StateFolderTest, AStoreWithoutItsKeyIsRefusedAndNoNewOneIsMade) {
  {
    ASSERT_OK(own());
  }
  std::ofstream(path_ + "/store.db") << "x";
  std::filesystem::remove(path_ + "/fingerprint.key");
  const Result<StateFolder> state = own();
  ASSERT_FALSE(state.has_value());
  EXPECT_EQ(state.error().code, ErrorCode::corrupt);
  EXPECT_NE(state.error().message.find("fingerprint.key"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path_ + "/fingerprint.key"));
}

TEST_F(StateFolderTest, AFileInItsPlaceIsRefused) {
  std::ofstream(folder_.file("file")) << "x";
  EXPECT_FALSE(StateFolder::own(folder_.file("file"), "x", system_entropy()).has_value());
  EXPECT_FALSE(StateFolder::own(folder_.file("file/state"), "x", system_entropy()).has_value());
  EXPECT_FALSE(StateFolder::own("", "x", system_entropy()).has_value());
  EXPECT_EQ(StateFolder::look(folder_.file("none")).error().code, ErrorCode::not_found);
}

TEST_F(StateFolderTest, NetworkFileSystemsAreKnown) {
  EXPECT_TRUE(is_network_file_system(0x6969));                         // NFS
  EXPECT_TRUE(is_network_file_system(0xff534d42L));                    // CIFS
  EXPECT_TRUE(is_network_file_system(static_cast<int>(0xff534d42U)));  // where the type is a signed int
  EXPECT_FALSE(is_network_file_system(0xef53));                        // ext4
  EXPECT_FALSE(is_network_file_system(0x01021994));                    // tmpfs
  EXPECT_FALSE(is_network_file_system(0x9123683eL));                   // btrfs
}

}  // namespace
}  // namespace sallyport::test
