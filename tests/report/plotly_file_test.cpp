#include "report/plotly_file.h"

#include <gtest/gtest.h>

#include "base/base64.h"
#include "l0gm/error.h"
#include "report/gzip.h"
#include "support/environment.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

const std::string script = "/**\n* plotly.js v3.4.0\n* Copyright\n*/\nvar Plotly = {};\n";

TEST(PlotlyFile, NamedByTheOption) {
  const TemporaryFolder folder;
  const PlotlyScript found = find_plotly(folder.write("plotly.min.js", script).string());
  EXPECT_EQ(found.version, "3.4.0");
  if (!gzip("")) GTEST_SKIP() << "built without zlib";
  EXPECT_EQ(found.packed, base64(*gzip(script)));
  EXPECT_EQ(found.sha256_base64, base64_sha256(script));
}

TEST(PlotlyFile, NamedByTheEnvironment) {
  const TemporaryFolder folder;
  const ScopedVariable variable("L0GM_PLOTLY", folder.write("plotly.min.js", script).c_str());
  EXPECT_EQ(find_plotly("").version, "3.4.0");
}

TEST(PlotlyFile, NotWanted) {
  const PlotlyScript none = find_plotly("none");
  EXPECT_TRUE(none.packed.empty() && none.why.empty());
}

TEST(PlotlyFile, AFileThatIsNotThereOrIsSomethingElse) {
  const TemporaryFolder folder;
  EXPECT_THROW(find_plotly((folder.path() / "nothing.js").string()), UserError);
  EXPECT_THROW(find_plotly(folder.write("other.js", "alert(1)").string()), UserError);
}

}  // namespace
}  // namespace l0gm
