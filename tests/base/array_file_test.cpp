#include "base/array_file.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

TEST(ArrayFile, ArraysKeepTheirFileMapped) {
  const TemporaryFolder folder;
  const std::vector<int32_t> ids = {1, 2, 3};
  const std::vector<uint8_t> flags = {0, 1};
  const std::filesystem::path path = folder.path() / "a";
  write_safetensors(path, {{"ids", tensor_of<int32_t>(ids)}, {"flags", tensor_of<uint8_t>(flags)}}, {});
  SharedArray<int32_t> read;
  {
    const ArrayFile file(path, "a list");
    read = file.array<int32_t>("ids");
    EXPECT_EQ(file.vector<uint8_t>("flags"), flags);
    EXPECT_TRUE(file.has("ids") && !file.has("more"));
    const std::string message = message_of<UserError>([&] { file.array<int64_t>("ids"); });
    EXPECT_NE(message.find("cannot be read as a list: tensor 'ids' has another type"), std::string::npos) << message;
    EXPECT_THROW(file.array<int32_t>("more"), UserError);
  }
  std::filesystem::remove(path);
  EXPECT_EQ(std::vector<int32_t>(read.begin(), read.end()), ids);
}

TEST(ArrayFile, DamagedFilesAreRenamed) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.write("a", "damaged");
  testing::internal::CaptureStderr();
  set_damaged_aside(path, "it is damaged", "The list");
  EXPECT_NE(testing::internal::GetCapturedStderr().find("it is damaged. It was set aside as"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(read_file(path.string() + ".damaged"), "damaged");
}

}  // namespace
}  // namespace l0gm
