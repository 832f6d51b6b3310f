#include "data/graph/pickle.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <unordered_map>

#include "base/text.h"
#include "data/graph/pickle_numpy.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

using Kind = PickleValue::Kind;

enum Opcode : unsigned char {
  mark = '(',
  stop = '.',
  binary_float = 'G',
  integer_4 = 'J',
  integer_1 = 'K',
  integer_2 = 'M',
  nothing = 'N',
  reduce = 'R',
  text_4 = 'X',
  bytes_4 = 'B',
  bytes_1 = 'C',
  old_text_4 = 'T',
  old_text_1 = 'U',
  append = 'a',
  build = 'b',
  global = 'c',
  appends = 'e',
  get_1 = 'h',
  get_4 = 'j',
  put_1 = 'q',
  put_4 = 'r',
  set_item = 's',
  tuple = 't',
  set_items = 'u',
  empty_list = ']',
  empty_dictionary = '}',
  empty_tuple = ')',
  protocol = 0x80,
  new_object = 0x81,
  tuple_1 = 0x85,
  tuple_2 = 0x86,
  tuple_3 = 0x87,
  yes = 0x88,
  no = 0x89,
  long_1 = 0x8a,
  text_1 = 0x8c,
  text_8 = 0x8d,
  bytes_8 = 0x8e,
  stack_global = 0x93,
  memoize = 0x94,
  frame = 0x95
};

}  // namespace

// Interprets the opcodes with a stack of values, a stack of marks, and a memo of numbered values.
class PickleReader {
 public:
  PickleReader(Pickle& pickle, std::string_view bytes, const std::string& where)
      : pickle_(pickle), bytes_(bytes), where_(where) {}

  void run() {
    while (true) {
      const size_t begin = place_;
      const auto opcode = static_cast<unsigned char>(take(1)[0]);
      if (opcode == stop) break;
      if (!simple(opcode) && !container(opcode) && !memo(opcode) && !object(opcode)) {
        fail(fmt::format("byte {} is the opcode {:#04x}, which is not supported", begin, opcode));
      }
    }
    if (stack_.size() != 1 || !marks_.empty() || place_ != bytes_.size()) fail("it does not end after its value");
    pickle_.value_ = stack_[0];
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw UserError(fmt::format("{} cannot be read: its pickle is damaged or holds more than arrays: {}.", where_, what));
  }

  std::string_view take(uint64_t count) {
    if (count > bytes_.size() - place_) fail("it is cut off");
    const std::string_view taken = bytes_.substr(place_, count);
    place_ += count;
    return taken;
  }
  uint64_t number(int size) {
    uint64_t value = 0;
    const std::string_view digits = take(static_cast<uint64_t>(size));
    for (int i = 0; i < size; ++i) value |= uint64_t{static_cast<unsigned char>(digits[static_cast<size_t>(i)])} << (8 * i);
    return value;
  }

  PickleValue& push(Kind kind) {
    if (pickle_.values_.size() >= Pickle::most_values) fail("it has too many values");
    PickleValue& value = pickle_.values_.emplace_back();
    value.kind = kind;
    stack_.push_back(&value);
    return value;
  }
  bool push_integer(Kind kind, int64_t value) {
    push(kind).integer = value;
    return true;
  }
  bool push_text(Kind kind, std::string_view text) {
    if (kind == Kind::text && first_invalid_utf8(text)) fail("a text is not UTF-8");
    push(kind).text = text;
    return true;
  }
  PickleValue& top() {
    if (stack_.size() <= floor()) fail("a value is missing");
    return *stack_.back();
  }
  PickleValue& pop() {
    PickleValue& value = top();
    stack_.pop_back();
    return value;
  }
  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  std::vector<const PickleValue*> pop_to_mark() {
    if (marks_.empty()) fail("a mark is missing");
    std::vector<const PickleValue*> values(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return values;
  }

  int64_t long_integer() {
    const auto size = static_cast<int>(number(1));
    if (size > 8) fail("a number is too large");
    if (size == 0) return 0;
    const uint64_t bits = number(size) << (64 - 8 * size);
    return static_cast<int64_t>(bits) >> (64 - 8 * size);
  }
  bool push_real() {
    uint64_t bits = 0;
    for (const char byte : take(8)) bits = bits << 8 | static_cast<unsigned char>(byte);
    push(Kind::real).real = std::bit_cast<double>(bits);
    return true;
  }

  bool simple(unsigned char opcode) {
    switch (opcode) {
      case nothing:
        push(Kind::none);
        return true;
      case yes:
        return push_integer(Kind::boolean, 1);
      case no:
        return push_integer(Kind::boolean, 0);
      case integer_1:
        return push_integer(Kind::integer, static_cast<int64_t>(number(1)));
      case integer_2:
        return push_integer(Kind::integer, static_cast<int64_t>(number(2)));
      case integer_4:
        return push_integer(Kind::integer, static_cast<int32_t>(number(4)));
      case long_1:
        return push_integer(Kind::integer, long_integer());
      case binary_float:
        return push_real();
      case text_1:
        return push_text(Kind::text, take(number(1)));
      case text_4:
        return push_text(Kind::text, take(number(4)));
      case text_8:
        return push_text(Kind::text, take(number(8)));
      case bytes_1:
      case old_text_1:
        return push_text(Kind::bytes, take(number(1)));
      case bytes_4:
      case old_text_4:
        return push_text(Kind::bytes, take(number(4)));
      case bytes_8:
        return push_text(Kind::bytes, take(number(8)));
      default:
        return false;
    }
  }

  bool push_tuple(size_t count) {
    std::vector<const PickleValue*> items(count);
    for (size_t i = count; i-- > 0;) items[i] = &pop();
    push(Kind::tuple).items = std::move(items);
    return true;
  }
  void extend(Kind kind, const std::vector<const PickleValue*>& values) {
    PickleValue& target = top();
    if (target.kind != kind || (kind == Kind::dictionary && values.size() % 2 != 0))
      fail("an element is added to a value that is not a container");
    target.items.insert(target.items.end(), values.begin(), values.end());
  }
  bool container(unsigned char opcode) {
    switch (opcode) {
      case mark:
        marks_.push_back(stack_.size());
        return true;
      case empty_tuple:
        return push_tuple(0);
      case tuple_1:
        return push_tuple(1);
      case tuple_2:
        return push_tuple(2);
      case tuple_3:
        return push_tuple(3);
      case tuple: {
        auto items = pop_to_mark();
        push(Kind::tuple).items = std::move(items);
        return true;
      }
      case empty_list:
        push(Kind::list);
        return true;
      case empty_dictionary:
        push(Kind::dictionary);
        return true;
      case append:
        extend(Kind::list, {&pop()});
        return true;
      case appends:
        extend(Kind::list, pop_to_mark());
        return true;
      case set_item: {
        const PickleValue* value = &pop();
        const PickleValue* key = &pop();
        extend(Kind::dictionary, {key, value});
        return true;
      }
      case set_items:
        extend(Kind::dictionary, pop_to_mark());
        return true;
      default:
        return false;
    }
  }

  bool get(uint64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) fail("it refers to a value that does not exist");
    stack_.push_back(found->second);
    return true;
  }
  bool put(uint64_t key) {
    memo_[key] = &top();
    return true;
  }
  bool memo(unsigned char opcode) {
    switch (opcode) {
      case get_1:
        return get(number(1));
      case get_4:
        return get(number(4));
      case put_1:
        return put(number(1));
      case put_4:
        return put(number(4));
      case memoize:
        return put(memo_.size());
      case frame:
        number(8);
        return true;
      case protocol: {
        const uint64_t version = number(1);
        if (version < 2 || version > 5) fail(fmt::format("its protocol is {}, wanted 2 to 5", version));
        return true;
      }
      default:
        return false;
    }
  }

  void push_name(std::string name) {
    check_pickle_name(name, where_);
    push(Kind::name).text = pickle_.texts_.emplace_back(std::move(name));
  }
  std::string_view line() {
    const size_t end = bytes_.find('\n', place_);
    if (end == std::string_view::npos) fail("it is cut off");
    const std::string_view text = take(end - place_);
    take(1);
    return text;
  }
  void call() {
    const PickleValue& arguments = pop();
    const PickleValue& name = pop();
    if (name.kind != Kind::name || arguments.kind != Kind::tuple) fail("it calls a value that is not a name");
    std::string text;
    PickleValue result = call_pickle_name(name, arguments, text, where_);
    decoded_ += text.size();
    if (decoded_ > bytes_.size()) fail("it decodes the same bytes several times");
    if (result.kind == Kind::bytes) result.text = pickle_.texts_.emplace_back(std::move(text));
    push(result.kind) = std::move(result);
  }
  bool object(unsigned char opcode) {
    switch (opcode) {
      case global: {
        const std::string_view module = line();
        push_name(fmt::format("{} {}", module, line()));
        return true;
      }
      case stack_global: {
        const PickleValue& name = pop();
        const PickleValue& module = pop();
        if (name.kind != Kind::text || module.kind != Kind::text) fail("a name is not text");
        push_name(fmt::format("{} {}", module.text, name.text));
        return true;
      }
      case reduce:
        call();
        return true;
      case new_object: {
        const PickleValue& arguments = pop();
        const PickleValue& name = pop();
        const bool matrix = name.kind == Kind::name && name.text.starts_with("scipy.sparse");
        if (!matrix || arguments.kind != Kind::tuple || !arguments.items.empty())
          fail("it makes an object that is not a csr_matrix");
        push(Kind::matrix);
        return true;
      }
      case build: {
        const PickleValue& state = pop();
        set_pickle_state(top(), state, where_);
        return true;
      }
      default:
        return false;
    }
  }

  Pickle& pickle_;
  std::string_view bytes_;
  const std::string& where_;
  size_t place_ = 0, decoded_ = 0;
  std::vector<PickleValue*> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, PickleValue*> memo_;
};

Pickle::Pickle(std::string_view bytes, const std::string& where) { PickleReader(*this, bytes, where).run(); }

const PickleValue* PickleValue::entry(std::string_view key) const {
  if (kind == Kind::matrix) return items.empty() || items[0]->kind != Kind::dictionary ? nullptr : items[0]->entry(key);
  if (kind != Kind::dictionary) return nullptr;
  for (size_t i = items.size(); i >= 2; i -= 2) {  // of two entries with one name the last is valid
    const PickleValue& name = *items[i - 2];
    if ((name.kind == Kind::text || name.kind == Kind::bytes) && name.text == key) return items[i - 1];
  }
  return nullptr;
}

std::string_view name_of(PickleValue::Kind kind) {
  constexpr std::array<std::string_view, 13> names = {"None",   "a boolean", "a number",    "a number",     "text",
                                                      "bytes",  "a tuple",   "a list",      "a dictionary", "a name",
                                                      "a type", "an array",  "a CSR matrix"};
  return names[static_cast<size_t>(kind)];
}

}  // namespace l0gm
