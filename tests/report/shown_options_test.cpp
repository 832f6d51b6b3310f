#include "report/shown_options.h"

#include <gtest/gtest.h>

#include "l0gm/error.h"

namespace l0gm {
namespace {

TEST(ShownOptions, FlatAndInOrder) {
  const ShownOptions options =
      shown_options("[gate]\nunit = \"group\"\nk = 3\n[data.split]\nvalid = 0.1\n[train]\nema = true\nlist = [1, 2]\n", {},
                    false);
  EXPECT_EQ(options, (ShownOptions{{"data.split.valid", "0.1"},
                                   {"gate.k", "3"},
                                   {"gate.unit", "group"},
                                   {"train.ema", "true"},
                                   {"train.list", "1, 2"}}));
}

TEST(ShownOptions, FoldersAreLeftOut) {
  const char* text = "[data]\ntrain = \"/home/me/bank.csv\"\nlabel = \"km/h\"\ndir = \"data/here\"\nother = [\"/a/b\", \"c\"]\n";
  EXPECT_EQ(
      shown_options(text, {"data.train", "data.dir"}, false),
      (ShownOptions{{"data.dir", "…/here"}, {"data.label", "km/h"}, {"data.other", "…/b, c"}, {"data.train", "…/bank.csv"}}));
  EXPECT_EQ(shown_options(text, {"data.train"}, true)[3].second, "/home/me/bank.csv");
}

TEST(ShownOptions, DamagedTextIsAUserError) { EXPECT_THROW(shown_options("gate = ", {}, false), UserError); }

TEST(WithoutFolders, KeepsTheLastName) {
  EXPECT_EQ(without_folders("/a/b/"), "…/b");
  EXPECT_EQ(without_folders("b"), "b");
  EXPECT_EQ(without_folders(""), "");
  EXPECT_EQ(without_folders("/"), "/");
  EXPECT_EQ(without_machine_path("C:\\x\\y"), "…/y");
  EXPECT_EQ(without_machine_path("12.2.0 / gcc"), "12.2.0 / gcc");
}

}  // namespace
}  // namespace l0gm
