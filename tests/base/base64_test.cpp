#include "base/base64.h"

#include <gtest/gtest.h>

namespace l0gm {
namespace {

TEST(Base64, KnownTexts) {  // RFC 4648, section 10
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foob"), "Zm9vYg==");
  EXPECT_EQ(base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xff\xfe\xfd"), "//79");
}

TEST(Base64, Digest) {  // printf 'alert(1)' | openssl dgst -sha256 -binary | base64
  EXPECT_EQ(base64_sha256("alert(1)"), "bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI=");
}

}  // namespace
}  // namespace l0gm
