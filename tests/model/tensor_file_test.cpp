#include "model/tensor_file.h"

#include "gate/toy_gate.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace testing_tools;

TEST(TensorFile, EveryTypeAndShapeComesBackAsItWas) {
  const TemporaryFolder folder;
  TensorMap tensors;
  for (const torch::Dtype type : {torch::kFloat64, torch::kFloat32, torch::kFloat16, torch::kBFloat16, torch::kInt64,
                                  torch::kInt32, torch::kInt16, torch::kInt8, torch::kUInt8, torch::kBool}) {
    tensors[std::string("type/") + c10::toString(type)] = at::randint(0, 100, {3, 5}).to(type);
  }
  tensors["scalar"] = at::full({}, 2.5, torch::kFloat64);
  tensors["empty"] = at::zeros({0, 4});
  tensors["transposed"] = at::randn({4, 6}).t();
  tensors["slice"] = at::randn({8, 3}).slice(0, 1, 8, 2);
  tensors["parameter"] = at::randn({3}).requires_grad_(true);
  const std::map<std::string, std::string> metadata = {{"step", "17"}, {"text", "a \"quoted\" line\nand another"}};
  save_tensors(folder.path() / "x.safetensors", tensors, metadata);
  const TensorFile file = load_tensors(folder.path() / "x.safetensors");
  for (const auto& [key, value] : metadata) EXPECT_EQ(file.metadata.at(key), value);
  ASSERT_EQ(file.tensors.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    ASSERT_TRUE(file.tensors.contains(name)) << name;
    EXPECT_EQ(file.tensors.at(name).scalar_type(), tensor.scalar_type()) << name;
    EXPECT_TRUE(at::equal(file.tensors.at(name), tensor)) << name;
    EXPECT_FALSE(file.tensors.at(name).requires_grad()) << name;
  }
}

TEST(TensorFile, WhatWasLoadedOutlivesTheFile) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "x.safetensors";
  const torch::Tensor x = at::randn({1000});
  save_tensors(path, {{"x", x}}, {});
  const TensorFile file = load_tensors(path);
  save_tensors(path, {{"x", at::zeros({1000})}}, {});
  std::filesystem::remove(path);
  EXPECT_TRUE(at::equal(file.tensors.at("x"), x));
}

TEST(TensorFile, TypesWithoutAPlaceInTheFormatAreOurMistake) {
  const TemporaryFolder folder;
  EXPECT_THROW(save_tensors(folder.path() / "x.safetensors", {{"x", at::zeros({2}, torch::kComplexFloat)}}, {}),
               std::logic_error);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "x.safetensors"));
}

TEST(TensorFile, DamagedFilesAreRefused) {
  const TemporaryFolder folder;
  EXPECT_THROW(load_tensors(folder.path() / "absent.safetensors"), UserError);
  EXPECT_THROW(load_tensors(folder.write("text.safetensors", "this is not a tensor file")), UserError);
  save_tensors(folder.path() / "x.safetensors", {{"x", at::randn({100})}}, {});
  std::filesystem::resize_file(folder.path() / "x.safetensors", std::filesystem::file_size(folder.path() / "x.safetensors") - 1);
  EXPECT_THROW(load_tensors(folder.path() / "x.safetensors"), UserError);
}

TEST(CopyInto, CopiesByNameAlsoIntoParametersAndOtherPrecisions) {
  torch::Tensor a = at::zeros({2, 3}).requires_grad_(true), b = at::zeros({4}, torch::kFloat64);
  const torch::Tensor x = at::randn({2, 3}), y = at::randn({4});
  copy_into({{"a", x}, {"b", y}}, {{"a", a}, {"b", b}}, "file");
  EXPECT_TRUE(at::equal(a, x));
  EXPECT_TRUE(at::equal(b, y.to(torch::kFloat64)));
  EXPECT_TRUE(a.is_leaf());
}

TEST(CopyInto, RefusesWhatDoesNotFitAndNamesIt) {
  const TensorMap model = {{"a", at::zeros({2, 3})}, {"b", at::zeros({4})}};
  const auto refused = [&](const TensorMap& from, const std::string& name) {
    const std::string message = message_of<UserError>([&] { copy_into(from, model, "run/best.safetensors"); });
    EXPECT_NE(message.find("run/best.safetensors"), std::string::npos) << message;
    EXPECT_NE(message.find("'" + name + "'"), std::string::npos) << message;
  };
  refused({{"a", at::ones({2, 3})}}, "b");
  refused({{"a", at::ones({2, 3})}, {"b", at::ones({5})}}, "b");
  refused({{"a", at::ones({3, 2})}, {"b", at::ones({4})}}, "a");
  refused({{"a", at::ones({1})}, {"b", at::ones({4})}}, "a");  // would broadcast
  refused({{"a", at::ones({2, 3})}, {"b", at::ones({4})}, {"c", at::ones({1})}}, "c");
}

TEST(TensorMap, PrefixesAreAddedAndTakenOff) {
  TensorMap all;
  add_with_prefix(all, "model/", {{"x", at::ones({1})}, {"y", at::ones({2})}});
  add_with_prefix(all, "adamw/", {{"x", at::ones({3})}});
  ASSERT_EQ(all.size(), 3U);
  const TensorMap model = with_prefix(all, "model/");
  ASSERT_EQ(model.size(), 2U);
  EXPECT_EQ(model.at("y").size(0), 2);
  EXPECT_EQ(with_prefix(all, "adamw/").at("x").size(0), 3);
  EXPECT_TRUE(with_prefix(all, "control/").empty());
}

}  // namespace
}  // namespace l0gm
