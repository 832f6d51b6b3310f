#include "server/openapi.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/fake_predictor.h"

namespace l0gm {
namespace {

using nlohmann::json;
using testing_tools::FakePredictor;

ModelStore::Entry entry(const char* name, bool texts) {
  return {std::make_shared<ServedModel>(name, std::make_unique<FakePredictor>(std::vector<std::string>{"p"}, texts), json(), "v"),
          nullptr};
}

TEST(OpenApi, HasAPathAndASchemaPerModel) {
  const json document = openapi({entry("rows", false), entry("texts", true)}, 7, false);
  const json& body = document["paths"]["/v1/models/rows:predict"]["post"]["requestBody"]["content"]["application/json"]["schema"];
  EXPECT_EQ(body["anyOf"].size(), 2U);
  EXPECT_EQ(body["anyOf"][0]["properties"]["rows"]["items"]["required"], json{"p"});
  EXPECT_EQ(body["anyOf"][0]["properties"]["rows"]["maxItems"], 7);
  EXPECT_EQ(document["paths"]["/v1/models/texts:predict"]["post"]["requestBody"]["content"]["application/json"]["schema"]["anyOf"]
                    [0]["required"],
            json{"texts"});
  EXPECT_FALSE(document.contains("security"));
  EXPECT_EQ(openapi({}, 7, true)["components"]["securitySchemes"]["token"]["scheme"], "bearer");
}

// Every reference must lead somewhere.
TEST(OpenApi, ReferencesExist) {
  const json document = openapi({entry("rows", false)}, 7, true);
  const json flat = document.flatten();
  int found = 0;
  for (const auto& [path, value] : flat.items()) {
    if (!path.ends_with("/$ref")) continue;
    ++found;
    EXPECT_TRUE(document.contains(json::json_pointer(value.get<std::string>().substr(1)))) << value;
  }
  EXPECT_GT(found, 10);
}

}  // namespace
}  // namespace l0gm
