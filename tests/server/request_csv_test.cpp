#include "server/request_csv.h"

#include <gtest/gtest.h>

#include "server/fake_predictor.h"
#include "server/request_error.h"

namespace l0gm {
namespace {

using testing_tools::FakePredictor;

std::vector<std::string> read(std::string body, char delimiter = ',', int64_t most = 100) {
  static const FakePredictor predictor({"age", "city"});
  const ColumnNames names(predictor);
  RequestRows rows;
  read_csv_rows(body, names, delimiter, most, rows);
  EXPECT_EQ(static_cast<size_t>(rows.rows) * 2, rows.cells.size());
  return {rows.cells.begin(), rows.cells.end()};
}

TEST(RequestCsv, ColumnsInAnyOrderOthersIgnored) {
  EXPECT_EQ(read("city,x,age\nParis,1,39\r\n\"a, \"\"b\"\"\nc\",2,\n"),
            (std::vector<std::string>{"39", "Paris", "", "a, \"b\"\nc"}));
  EXPECT_EQ(read("\xEF\xBB\xBF"
                 "age;city\n1;2",
                 ';'),
            (std::vector<std::string>{"1", "2"}));
}

TEST(RequestCsv, Refusals) {
  for (const char* wrong : {"", "age,city\n", "age,town\n1,2\n", "age,city\n1\n", "age,city\n1,\"2\n", "age,age,city\n1,1,2\n",
                            "age,city\n1,\xff\n", "age,city\n1,\xc3"}) {
    try {
      read(wrong);
      FAIL() << wrong;
    } catch (const RequestError& error) {
      EXPECT_EQ(error.status(), 400) << wrong;
    }
  }
  try {
    read("age,city\n1,2\n1,2\n", ',', 1);
    FAIL();
  } catch (const RequestError& error) {
    EXPECT_EQ(error.status(), 413);
  }
}

}  // namespace
}  // namespace l0gm
