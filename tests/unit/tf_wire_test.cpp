#include "support/wire.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace t2o::tf {
namespace {

Bytes bytes(std::string_view s) { return std::as_bytes(std::span(s)); }

std::string failure(std::string_view message) {
  try {
    for (WireReader r(bytes(message)); r.next();) {
    }
  } catch (const ConversionError& e) {
    EXPECT_EQ(e.diagnostic().code, Code::bad_file);
    return e.diagnostic().message;
  }
  return {};
}

TEST(Wire, TellsTheFile) {
  EXPECT_TRUE(failure("\x08").starts_with("the file is corrupt"));
  {
    const Reading model("a.pb");
    EXPECT_TRUE(failure("\x08").starts_with("a.pb: the file is corrupt"));
    {
      const Reading inside("b.index");
      EXPECT_TRUE(failure("\x08").starts_with("b.index: "));
    }
    EXPECT_TRUE(failure("\x08").starts_with("a.pb: "));
  }
  EXPECT_TRUE(failure("\x08").starts_with("the file"));
}

TEST(Wire, ReadsEveryType) {
  const std::string message("\x08\x96\x01\x12\x02hi\x1d\x00\x00\x80\x3f", 12);
  WireReader r(bytes(message));
  ASSERT_TRUE(r.next());
  EXPECT_EQ(r.field(), 1U);
  EXPECT_EQ(r.integer(), 150);
  ASSERT_TRUE(r.next());
  EXPECT_EQ(r.text(), "hi");
  ASSERT_TRUE(r.next());
  EXPECT_EQ(r.real(), 1.0F);
  EXPECT_FALSE(r.next());
}

TEST(Wire, ReadsListsPackedOrNot) {
  for (const std::string& message :
       {std::string("\x0a\x03\x01\x96\x01", 5), std::string("\x08\x01\x08\x96\x01", 5)}) {
    std::vector<std::uint64_t> values;
    for (WireReader r(bytes(message)); r.next();)
      r.each_varint([&](std::uint64_t v) { values.push_back(v); });
    EXPECT_EQ(values, (std::vector<std::uint64_t>{1, 150}));
  }
}

TEST(Wire, NegativeNumbersTakeTenBytes) {
  const std::string message = "\x08" + std::string(9, '\xff') + "\x01";
  WireReader r(bytes(message));
  ASSERT_TRUE(r.next());
  EXPECT_EQ(r.integer(), -1);
}

TEST(Wire, RefusesWhatIsCorruptAndSaysWhere) {
  EXPECT_NE(failure("\x08\x01\x12\x05hi").find("longer than its message at byte 2"), std::string::npos);
  EXPECT_NE(failure("\x08\x96").find("truncated number"), std::string::npos);
  EXPECT_NE(failure("\x08" + std::string(10, '\xff') + "\x01").find("overlong"), std::string::npos);
  EXPECT_NE(failure("\x1d\x01").find("truncated number"), std::string::npos);
  EXPECT_NE(failure("\x0b").find("unknown wire type"), std::string::npos);
  EXPECT_NE(failure(std::string("\x00", 1)).find("invalid field number"), std::string::npos);
}

TEST(Wire, RefusesAFieldOfAnotherType) {
  WireReader r(bytes("\x08\x01"));
  ASSERT_TRUE(r.next());
  EXPECT_THROW(r.text(), ConversionError);
}

}  // namespace
}  // namespace t2o::tf
