#include "server/model_store.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "runtime/sample_model.h"
#include "server/request_error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace testing_tools;

void write_model(const std::filesystem::path& path, uint64_t seed, int classes = 2) {
  const SampleOptions options{.classes = classes, .seed = seed};
  const CompactHeader header = sample_header(options);
  write_compact(path, header, sample_net(header.schema, options));
}

TEST(ModelStore, NamesAreForAddresses) {
  EXPECT_EQ(ModelSource::parse("dir/adult.v2.l0gm").name, "adult.v2");
  EXPECT_EQ(ModelSource::parse("a=dir/b c.l0gm").name, "a");
  EXPECT_EQ(ModelSource::parse("a=dir/b c.l0gm").path, "dir/b c.l0gm");
  for (const char* wrong : {"b c.l0gm", "=x.l0gm", "a/b=x.l0gm", "é.l0gm", ""})
    EXPECT_THROW(ModelSource::parse(wrong), UserError) << wrong;
}

TEST(ModelStore, RefusesToStartOnWhatItWouldHaveToGuess) {
  const TemporaryFolder folder;
  write_model(folder.path() / "m.l0gm", 1);
  ServerMetrics metrics;
  const auto start = [&](std::vector<ModelSource> sources) {
    return message_of<UserError>([&] { ModelStore(sources, metrics); });
  };
  EXPECT_NE(start({}).find("no model"), std::string::npos);
  EXPECT_NE(start({{"m", folder.path() / "m.l0gm"}, {"m", folder.path() / "m.l0gm"}}).find("both be served as 'm'"),
            std::string::npos);
  EXPECT_NE(start({{"m", folder.path() / "none.l0gm"}}).find("none.l0gm"), std::string::npos);
  EXPECT_NE(start({{"m", folder.write("text.l0gm", "hello")}}).find("text.l0gm"), std::string::npos);
  EXPECT_NE(start({{"m", L0GM_SOURCE_DIR "/tests/compact/graph/files/graph.l0gm"}}).find("LibTorch"), std::string::npos);
}

TEST(ModelStore, ReadsAFileAgainWhenItHasSettled) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "m.l0gm";
  write_model(path, 1);
  ServerMetrics metrics;
  ModelStore models({{"m", path}}, metrics);
  const auto before = models.find("m").model;
  EXPECT_EQ(models.find("other").model, nullptr);
  models.look();
  EXPECT_EQ(models.find("m").model, before) << "nothing has changed";
  write_model(path, 2);
  models.look();
  EXPECT_EQ(models.find("m").model, before) << "it may still be written";
  models.look();
  const auto after = models.find("m").model;
  EXPECT_NE(after->version(), before->version());
  models.look();
  EXPECT_EQ(models.find("m").model, after);
  EXPECT_EQ(before->predictor().columns().size(), 6U) << "requests that began with it go on";
}

TEST(ModelStore, ADamagedFileChangesNothing) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "m.l0gm";
  write_model(path, 1);
  ServerMetrics metrics;
  ModelStore models({{"m", path}}, metrics);
  const auto before = models.find("m").model;
  const std::string sound = read_file(path);
  const auto change_to = [&](const std::string& bytes) {
    write_file_atomically(path, bytes);
    models.look();
    models.look();
  };
  std::string damaged = sound;
  damaged[damaged.size() / 2] ^= 1;
  change_to(damaged);
  EXPECT_EQ(models.find("m").model, before);
  EXPECT_FALSE(models.find("m").metrics->refusal().empty());
  change_to(sound.substr(0, 100));
  EXPECT_EQ(models.find("m").model, before);
  std::filesystem::remove(path);
  models.look();
  models.look();
  EXPECT_EQ(models.find("m").model, before);
  EXPECT_FALSE(models.find("m").metrics->refusal().empty());
  change_to(sound);
  EXPECT_EQ(models.find("m").model->version(), before->version());
  EXPECT_TRUE(models.find("m").metrics->refusal().empty());
  EXPECT_NE(metrics.text().find("l0gm_refused_reloads_total{model=\"m\"} 3"), std::string::npos) << metrics.text();
}

TEST(ModelStore, OtherClassesAreAnotherModel) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "m.l0gm";
  write_model(path, 1);
  ServerMetrics metrics;
  ModelStore models({{"m", path}}, metrics);
  write_model(path, 1, 3);
  models.look();
  models.look();
  EXPECT_EQ(models.find("m").model->predictor().classes().size(), 2U);
  EXPECT_NE(models.find("m").metrics->refusal().find("classes"), std::string::npos);
}

}  // namespace
}  // namespace l0gm
