#include "server/page_headers.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace l0gm {
namespace {

TEST(PageHeaders, NameScriptAndStyleByTheirHashes) {
  const std::string headers = page_headers("<style>a{}</style><script>alert(1)</script>");
  // printf 'alert(1)' | openssl dgst -sha256 -binary | base64
  EXPECT_NE(headers.find("script-src 'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='"), headers.npos) << headers;
  EXPECT_NE(headers.find("style-src 'sha256-"), headers.npos);
  EXPECT_TRUE(headers.ends_with("\r\n"));
}

TEST(PageHeaders, WantOneOfEach) {
  EXPECT_THROW(page_headers("<style></style>"), std::logic_error);
  EXPECT_THROW(page_headers("<style></style><script></script><script></script>"), std::logic_error);
}

}  // namespace
}  // namespace l0gm
