#include "base/options.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {

enum class Shade { light, half_dark, dark };
template <>
inline constexpr auto enum_names<Shade> = std::to_array<std::string_view>({"light", "half-dark", "dark"});

namespace {

struct PartOptions {
  std::string type;
  int64_t bins = 0;
  std::vector<std::string> missing;
  template <class Visitor>
  void visit(Visitor& v) {
    v("type", type, "what it is");
    v("bins", bins, "how many", at_least(0));
    v("missing", missing, "what means missing");
  }
};

struct InnerOptions {
  double share = 0.25;
  template <class Visitor>
  void visit(Visitor& v) {
    v("share", share, "a share", inside(0, 1));
  }
};

struct KindsOptions {
  bool flag = false;
  int64_t count = 3;
  double rate = 0.5;
  double cold = -1;
  std::string text = "plain";
  Shade shade = Shade::half_dark;
  std::optional<double> price;
  std::optional<int64_t> limit;
  std::vector<double> numbers = {1, 2.5};
  std::vector<std::string> texts;
  EnumSet<Shade> shades = Shade::half_dark;
  std::map<std::string, std::string> types;
  InnerOptions inner;
  template <class Visitor>
  void visit(Visitor& v) {
    v("flag", flag, "a switch");
    v("count", count, "a count", between(1, 100));
    v("rate", rate, "a rate", above(0));
    v("cold", cold, "below zero", below(0));
    v("text", text, "some text");
    v("shade", shade, "one of three");
    v("price", price, "may be unset", at_least(0));
    v("limit", limit, "may be unset", at_least(1));
    v("numbers", numbers, "a list of numbers");
    v("texts", texts, "a list of texts");
    v("shades", shades, "some of three");
    v("types", types, "a table of texts");
    v.section("inner", inner);
  }
};

struct Root {
  KindsOptions kinds;
  std::map<std::string, PartOptions> columns;
  template <class Visitor>
  void visit(Visitor& v) {
    v.section("kinds", kinds);
    v.family("columns", columns, "NAME");
  }
};

std::string refused_set(const std::string& assignment) {
  Root root;
  OptionList options = OptionList::of(root);
  return message_of<UserError>([&] { options.set(assignment); });
}

std::string refused_toml(const std::string& text) {
  Root root;
  OptionList options = OptionList::of(root);
  return message_of<UserError>([&] { options.read_toml_text(text, "run.toml"); });
}

void expect_parts(const std::string& message, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(message.find(part), std::string::npos) << "'" << part << "' is not in: " << message;
}

void expect_moved(const Root& root) {
  EXPECT_TRUE(root.kinds.flag);
  EXPECT_EQ(root.kinds.count, 42);
  EXPECT_EQ(root.kinds.rate, 0.125);
  EXPECT_EQ(root.kinds.text, "a \"b\" = [c]");
  EXPECT_EQ(root.kinds.shade, Shade::dark);
  EXPECT_EQ(root.kinds.price, 2.0);
  EXPECT_EQ(root.kinds.limit, 7);
  EXPECT_EQ(root.kinds.numbers, (std::vector<double>{3, -0.5, 1e-9}));
  EXPECT_EQ(root.kinds.texts, (std::vector<std::string>{"x", "y z"}));
  EXPECT_EQ(root.kinds.types, (std::map<std::string, std::string>{{"zip", "categorical"}, {"a.b", "numeric"}}));
  EXPECT_EQ(root.kinds.inner.share, 0.75);
}

TEST(Options, EveryKindFromToml) {
  Root root;
  OptionList options = OptionList::of(root);
  options.read_toml_text(R"(
[kinds]
flag = true
count = 42
rate = 0.125
text = "a \"b\" = [c]"
shade = "dark"
price = 2
limit = 7
numbers = [3, -0.5, 1e-9]
texts = ["x", "y z"]
types = { zip = "categorical", "a.b" = "numeric" }
[kinds.inner]
share = 0.75
)",
                         "run.toml");
  expect_moved(root);
}

TEST(Options, EveryKindFromTheCommandLine) {
  Root root;
  OptionList options = OptionList::of(root);
  for (const char* assignment :
       {"kinds.flag=true", "kinds.count=42", "kinds.rate=.125", "kinds.text=a \"b\" = [c]", "kinds.shade=dark", "kinds.price=2",
        "kinds.limit=7", "kinds.numbers=[3, -0.5, 1e-9]", "kinds.texts=[\"x\", \"y z\"]",
        "kinds.types={ zip = \"categorical\", \"a.b\" = \"numeric\" }", " kinds.inner.share = 0.75 "}) {
    options.set(assignment);
  }
  expect_moved(root);
  options.set("kinds.text=\"quoted\"");
  EXPECT_EQ(root.kinds.text, "quoted");
  options.set("kinds.text=");
  EXPECT_EQ(root.kinds.text, "");
  options.set("kinds.count=1e2");
  EXPECT_EQ(root.kinds.count, 100);
  options.set("kinds.texts=[]");
  EXPECT_TRUE(root.kinds.texts.empty());
  options.set("kinds.numbers=[]");
  EXPECT_TRUE(root.kinds.numbers.empty());
}

TEST(Options, LaterAssignmentsWinAndAreRemembered) {
  Root root;
  OptionList options = OptionList::of(root);
  EXPECT_FALSE(options.named("kinds.count"));
  options.read_toml_text("kinds.count = 5\n", "run.toml");
  EXPECT_TRUE(options.named("kinds.count"));
  EXPECT_FALSE(options.named("kinds.rate"));
  options.set("kinds.count=6");
  EXPECT_EQ(root.kinds.count, 6);
  EXPECT_EQ(std::get<int64_t>(options.find("kinds.count").default_value), 3) << "the default stays what it was";
}

TEST(Options, ReadsFiles) {
  const TemporaryFolder folder;
  Root root;
  OptionList options = OptionList::of(root);
  options.read_toml(folder.write("run.toml", "[kinds]\ncount = 9\n"));
  EXPECT_EQ(root.kinds.count, 9);
  EXPECT_THROW(options.read_toml(folder.path() / "absent.toml"), UserError);
}

struct PathOptions {
  std::string train, valid, name;
  template <class Visitor>
  void visit(Visitor& v) {
    v("train", train, "a file").path();
    v("valid", valid, "a file").path();
    v("name", name, "no file");
  }
};

TEST(Options, PathsOfAFileAreSeenFromItsFolder) {
  const TemporaryFolder folder, elsewhere;
  folder.write("data/rows.csv", "x");
  const auto config = folder.write("own.toml", "train = 'data/rows.csv'\nvalid = 'absent.csv'\nname = 'data/rows.csv'\n");
  PathOptions options;
  OptionList::of(options).read_toml(config);
  EXPECT_EQ(options.train, (folder.path() / "data/rows.csv").string());
  EXPECT_EQ(options.valid, (folder.path() / "absent.csv").string());
  EXPECT_EQ(options.name, "data/rows.csv");
}

TEST(Options, PathsOfTheCommandLineAndThoseThatOnlyTheWorkingFolderHas) {
  const TemporaryFolder folder;
  const auto config = folder.write("own.toml", "train = 'Testing'\n");
  const auto before = std::filesystem::current_path();
  const TemporaryFolder working;
  working.write("Testing", "x");
  std::filesystem::current_path(working.path());
  const auto here = std::filesystem::current_path();
  PathOptions options;
  OptionList list = OptionList::of(options);
  testing::internal::CaptureStderr();
  list.read_toml(config);
  const std::string note = testing::internal::GetCapturedStderr();
  list.set("valid=sub/../v.csv");
  std::filesystem::current_path(before);
  EXPECT_EQ(options.train, (here / "Testing").string());
  EXPECT_NE(note.find("taken from the working folder"), std::string::npos) << note;
  EXPECT_EQ(options.valid, (here / "v.csv").string());
  list.set("valid=''");
  EXPECT_EQ(options.valid, "");
}

TEST(Options, ATextNeedsNoQuotesOnTheCommandLine) {
  PathOptions options;
  OptionList list = OptionList::of(options);
  for (const char* text : {"1", "0.50", "true", "plain"}) {
    list.set(std::string("name=") + text);
    EXPECT_EQ(options.name, text);
  }
}

TEST(Options, UnknownKeysNameTheNearestOneAndTheLine) {
  expect_parts(refused_toml("[kinds]\nflag = true\ncuont = 4\n"),
               {"run.toml line 3", "unknown option 'kinds.cuont'", "Did you mean 'kinds.count'?"});
  expect_parts(refused_toml("[kind]\ncount = 4\n"), {"line 2", "'kind.count'", "Did you mean 'kinds.count'?"});
  expect_parts(refused_toml("[kinds.iner]\nshare = 0.5\n"),
               {"line 2", "'kinds.iner.share'", "Did you mean 'kinds.inner.share'?"});
  expect_parts(refused_toml("kinds = 4\n"), {"line 1", "unknown option 'kinds'"});
  expect_parts(refused_set("kinds.rat=4"), {"unknown option 'kinds.rat'", "Did you mean 'kinds.rate'?"});
  const std::string far = refused_set("zzzzzzzzzzzzzz=4");
  expect_parts(far, {"unknown option 'zzzzzzzzzzzzzz'"});
  EXPECT_EQ(far.find("Did you mean"), std::string::npos) << far;
}

TEST(Options, WrongTypesSayWhatWasWantedAndFound) {
  expect_parts(refused_toml("[kinds]\n\ncount = \"many\"\n"),
               {"run.toml line 3", "kinds.count is a whole number", "\"many\" (text)"});
  expect_parts(refused_toml("kinds.count = 4.5\n"), {"line 1", "kinds.count is a whole number", "4.5 (a number)"});
  expect_parts(refused_toml("kinds.rate = true\n"), {"kinds.rate is a number", "true (true or false)"});
  expect_parts(refused_toml("kinds.flag = 1\n"), {"kinds.flag is true or false", "1 (a whole number)"});
  expect_parts(refused_toml("kinds.text = 3\n"), {"kinds.text is text", "3 (a whole number)"});
  expect_parts(refused_toml("kinds.texts = [1, 2]\n"), {"kinds.texts is", "list of texts", "[1, 2] (a list of numbers)"});
  expect_parts(refused_toml("kinds.numbers = [\"a\"]\n"), {"kinds.numbers is", "list of numbers", "[\"a\"] (a list of texts)"});
  expect_parts(refused_toml("kinds.numbers = 3\n"), {"kinds.numbers is", "list of numbers", "3 (a whole number)"});
  expect_parts(refused_toml("kinds.types = \"x\"\n"), {"kinds.types is", "table of texts", "\"x\" (text)"});
  expect_parts(refused_toml("kinds.types = { a = 3 }\n"), {"line 1", "'a' must be text"});
  expect_parts(refused_toml("kinds.numbers = [1, \"a\"]\n"), {"line 1", "numbers or texts, not both"});
  expect_parts(refused_toml("kinds.numbers = [true]\n"), {"line 1", "numbers or texts"});
  expect_parts(refused_toml("kinds.text = 2020-01-01\n"), {"line 1", "dates and times"});
  expect_parts(refused_set("kinds.count=many"), {"--set kinds.count=many", "kinds.count is a whole number", "\"many\" (text)"});
  expect_parts(refused_set("kinds.flag=yes"), {"kinds.flag is true or false", "\"yes\" (text)"});
}

TEST(Options, NamesOfAnEnumerationAreListedWithTheNearest) {
  expect_parts(refused_set("kinds.shade=dakr"),
               {"kinds.shade is one of light, half-dark, dark", "Did you mean 'dark'?", "\"dakr\""});
  expect_parts(refused_set("kinds.shade=3"), {"one of light, half-dark, dark", "3 (a whole number)"});
}

TEST(Options, RangesAreToldWithTheValueFound) {
  expect_parts(refused_set("kinds.count=0"), {"kinds.count must be at least 1, at most 100", "found 0"});
  expect_parts(refused_set("kinds.count=101"), {"at most 100", "found 101"});
  expect_parts(refused_set("kinds.rate=0"), {"kinds.rate must be above 0", "found 0"});
  expect_parts(refused_set("kinds.cold=0"), {"kinds.cold must be below 0", "found 0"});
  expect_parts(refused_set("kinds.price=-1"), {"kinds.price must be at least 0", "found -1"});
  expect_parts(refused_set("kinds.limit=0"), {"kinds.limit must be at least 1", "found 0"});
  expect_parts(refused_set("kinds.inner.share=1"), {"kinds.inner.share must be above 0, below 1", "found 1"});
  expect_parts(refused_set("kinds.rate=nan"), {"kinds.rate must be finite", "found nan"});
  expect_parts(refused_set("kinds.rate=inf"), {"kinds.rate must be finite", "found inf"});
  EXPECT_NO_THROW({
    Root root;
    OptionList options = OptionList::of(root);
    options.set("kinds.count=1");
    options.set("kinds.count=100");
  });
}

TEST(Options, ARefusedValueChangesNothing) {
  Root root;
  OptionList options = OptionList::of(root);
  for (const char* assignment : {"kinds.count=1000", "kinds.price=-3", "kinds.shade=none", "kinds.texts=[1]"}) {
    EXPECT_THROW(options.set(assignment), UserError);
  }
  EXPECT_EQ(root.kinds.count, 3);
  EXPECT_FALSE(root.kinds.price.has_value());
  EXPECT_EQ(root.kinds.shade, Shade::half_dark);
  EXPECT_FALSE(options.named("kinds.count"));
}

TEST(Options, BrokenTomlIsToldByLineAndColumn) {
  expect_parts(refused_toml("[kinds]\ncount = 4\nrate = = 3\n"), {"run.toml line 3, column"});
  expect_parts(refused_toml("[kinds]\ncount = 4\ncount = 5\n"), {"run.toml line 3"});
  expect_parts(refused_set("kinds.text=a\xff"), {"--set kinds.text=a", "byte 13 is not UTF-8"});
  expect_parts(refused_set("kinds.count"), {"--set wants key=value", "found 'kinds.count'"});
}

TEST(Options, FamiliesTakeAnyName) {
  Root root;
  OptionList options = OptionList::of(root);
  options.read_toml_text(R"(
[columns.age]
type = "numeric"
bins = 8
[columns."hours per week"]
bins = 4
[columns."a.b.c"]
type = "ignore"
[columns."say \"when\""]
missing = ["-"]
[columns."größe"]
bins = 2
)",
                         "run.toml");
  options.set("columns.zip.type=categorical");
  options.set("columns.x.y.bins=3");
  ASSERT_EQ(root.columns.size(), 7U);
  EXPECT_EQ(root.columns["age"].type, "numeric");
  EXPECT_EQ(root.columns["age"].bins, 8);
  EXPECT_EQ(root.columns["hours per week"].bins, 4);
  EXPECT_EQ(root.columns["a.b.c"].type, "ignore");
  EXPECT_EQ(root.columns["say \"when\""].missing, (std::vector<std::string>{"-"}));
  EXPECT_EQ(root.columns["größe"].bins, 2);
  EXPECT_EQ(root.columns["zip"].type, "categorical");
  EXPECT_EQ(root.columns["x.y"].bins, 3);
  EXPECT_TRUE(options.named("columns.age.bins"));
}

TEST(Options, FamiliesRefuseWhatTheyDoNotHave) {
  expect_parts(refused_toml("[columns.age]\nbinz = 3\n"), {"run.toml line 2", "unknown option 'columns.age.binz'",
                                                           "columns.NAME has type, bins, missing", "Did you mean 'bins'?"});
  expect_parts(refused_set("columns.age.bins=-1"), {"columns.age.bins must be at least 0", "found -1"});
  expect_parts(refused_set("columns.bins=3"), {"unknown option 'columns.bins'"});
  Root root;
  OptionList options = OptionList::of(root);
  EXPECT_THROW(options.set("columns.age.binz=3"), UserError);
  EXPECT_TRUE(root.columns.empty()) << "a refused key makes no column";
}

TEST(Options, ResolvedTomlReadsBackToTheSame) {
  Root root;
  OptionList options = OptionList::of(root);
  for (const char* assignment : {"kinds.flag=true", "kinds.rate=0.1", "kinds.cold=-1e300", "kinds.price=3", "kinds.shade=dark",
                                 "kinds.texts=[\"a\", \"b\"]", "kinds.types={ zip = \"categorical\", \"a.b\" = \"numeric\" }",
                                 "columns.age.bins=8", "columns.a.b.type=numeric", "columns.say \"when\".bins=1",
                                 "columns.größe.bins=2", "columns.hours per week.missing=[\"?\"]"}) {
    options.set(assignment);
  }
  root.kinds.text = "tab\t, line\n, \"quote\", back\\slash, é, \x01 and \x7f";
  root.kinds.inner.share = 1.0 / 3;
  root.kinds.numbers = {1, 1e-320, 123456789.25, -0.0};
  root.columns["new\nline"].type = "odd";
  root.columns[""].type = "nameless";
  const std::string text = OptionList::of(root).toml();
  Root again;
  OptionList read = OptionList::of(again);
  ASSERT_NO_THROW(read.read_toml_text(text, "resolved")) << text;
  EXPECT_EQ(OptionList::of(again).toml(), text);
  EXPECT_EQ(OptionList::of(again).json(), OptionList::of(root).json());
  EXPECT_EQ(again.kinds.text, root.kinds.text);
  EXPECT_EQ(again.kinds.numbers, root.kinds.numbers);
  EXPECT_EQ(again.columns.size(), 7U);
  EXPECT_EQ(again.columns["new\nline"].type, "odd");
  EXPECT_EQ(again.columns[""].type, "nameless");
  EXPECT_EQ(again.kinds.price, 3.0);
}

TEST(Options, UnsetOptionalsAreLeftOut) {
  Root root;
  const OptionList options = OptionList::of(root);
  EXPECT_EQ(options.toml().find("price"), std::string::npos);
  EXPECT_FALSE(options.json().contains("kinds.price"));
  root.kinds.price = 0.5;
  EXPECT_NE(options.toml().find("price = 0.5"), std::string::npos);
  EXPECT_EQ(options.json()["kinds.price"], 0.5);
  EXPECT_EQ(options.json()["kinds.shade"], "half-dark");
  EXPECT_EQ(options.json()["kinds.count"], 3);
}

TEST(Options, WholeRealsStayReals) {
  Root root;
  root.kinds.rate = 2;
  EXPECT_NE(OptionList::of(root).toml().find("rate = 2.0\n"), std::string::npos);
}

TEST(Options, HelpAndPageTellEveryOption) {
  Root root;
  const OptionList options = OptionList::of(root);
  const std::string help = options.help(), page = options.markdown();
  for (const std::string& text : {help, page}) {
    expect_parts(text, {"[kinds]", "[kinds.inner]", "[columns.NAME]", "count", "whole number", "at least 1, at most 100",
                        "a count", "one of light, half-dark, dark", "number, unset", "a table of texts", "what means missing"});
  }
  expect_parts(page, {"| `count` | whole number; at least 1, at most 100 | `3` | a count |",
                      "| `price` | number, unset; at least 0 | `unset` | may be unset |"});
  EXPECT_TRUE(root.columns.empty()) << "describing the family makes no column";
}

struct ReaderOptions {
  std::string from;
  double weight = 0.5;
  int64_t steps = 3, lanes = 1, turns = 0;
  template <class Visitor>
  void visit(Visitor& v) {
    v("from", from, "where from");
    v("turns", turns, "how often").read_by("reader.from is set or kinds.flag = true");
    v("weight", weight, "its weight").refused_unless("reader.from is set");
    v("steps", steps, "how many").read_by("kinds.shade = light | dark");
    v("lanes", lanes, "how wide").read_by("kinds.flag = true").read_by("kinds.count = 4");
  }
};

struct Conditional {
  KindsOptions kinds;
  ReaderOptions reader;
  template <class Visitor>
  void visit(Visitor& v) {
    v.section("kinds", kinds);
    v.section("reader", reader, "modality = graph");
  }
};

TEST(Options, AnUnmetConditionIsTold) {
  Conditional root;
  OptionList options = OptionList::of(root);
  const auto unmet = [&](const char* key, const char* modality = "graph") {
    const ReadBy* condition = options.unmet(options.find(key), modality);
    return condition == nullptr ? std::string("read") : condition->condition + (condition->refused ? ", refused" : "");
  };
  EXPECT_EQ(unmet("kinds.count"), "read") << "no condition";
  EXPECT_EQ(unmet("reader.from", "table"), "modality = graph") << "the section's condition holds for all in it";
  EXPECT_EQ(unmet("reader.weight", "table"), "modality = graph") << "the first one that does not hold";
  EXPECT_EQ(unmet("reader.weight"), "reader.from is set, refused");
  EXPECT_EQ(unmet("reader.turns"), "reader.from is set or kinds.flag = true") << "neither holds";
  options.set("kinds.flag=true");
  EXPECT_EQ(unmet("reader.turns"), "read") << "the second one holds";
  options.set("kinds.flag=false");
  options.set("reader.from=here");
  EXPECT_EQ(unmet("reader.turns"), "read") << "the first one holds";
  EXPECT_EQ(unmet("reader.weight"), "read");
  EXPECT_EQ(unmet("reader.steps"), "kinds.shade = light | dark");
  options.set("kinds.shade=dark");
  EXPECT_EQ(unmet("reader.steps"), "read");
  EXPECT_EQ(unmet("reader.lanes"), "kinds.flag = true");
  options.set("kinds.flag=true");
  EXPECT_EQ(unmet("reader.lanes"), "kinds.count = 4");
  options.set("kinds.count=4");
  EXPECT_EQ(unmet("reader.lanes"), "read");
  expect_parts(options.markdown(), {"how many. Read where `modality = graph`, `kinds.shade = light or dark` |"});
}

TEST(Options, SetsOfNames) {
  Root root;
  OptionList options = OptionList::of(root);
  options.set("kinds.shades=light+dark");
  EXPECT_EQ(root.kinds.shades, (EnumSet<Shade>{Shade::light, Shade::dark}));
  EXPECT_TRUE(root.kinds.shades.has(Shade::dark) && !root.kinds.shades.has(Shade::half_dark));
  EXPECT_EQ(options.find("kinds.shades").value(), OptionValue(std::string("light+dark")));
  options.read_toml_text("kinds.shades = [\"half-dark\", \"light\"]\n", "run.toml");
  EXPECT_EQ(root.kinds.shades.names(), "light+half-dark") << "in the order of the declaration";
  options.set("kinds.shades=dark");
  EXPECT_EQ(root.kinds.shades, Shade::dark);
  expect_parts(refused_set("kinds.shades=light+drak"), {"kinds.shades is one of light, half-dark, dark", "light+drak"});
  expect_parts(refused_set("kinds.shades=3"), {"kinds.shades is one of light, half-dark, dark, or several joined by +"});
}

}  // namespace
}  // namespace l0gm
