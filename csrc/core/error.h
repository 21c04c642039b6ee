// Errors as C++ exceptions, one class per Python exception; bind/ turns them into that exception.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace weft {

enum class ErrorKind { Runtime, Type, Value, Index, NotImplemented, Memory, LinAlg };

class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string text) : kind(kind), text(std::move(text)) {}
  const char* what() const noexcept override { return text.c_str(); }
  ErrorKind kind;
  std::string text;
  std::string line;  // of the user's program, where it is not the one that runs
};

// A Python exception is already set and travels through C++ as this.
class PythonError : public std::exception {};

template <class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void fail(ErrorKind kind, const Parts&... parts) {
  std::ostringstream s;
  (s << ... << parts);
  throw Error(kind, s.str());
}
template <class... P>
[[noreturn]] void fail(const P&... parts) {
  fail(ErrorKind::Runtime, parts...);
}
template <class... P>
[[noreturn]] void fail_type(const P&... parts) {
  fail(ErrorKind::Type, parts...);
}
template <class... P>
[[noreturn]] void fail_value(const P&... parts) {
  fail(ErrorKind::Value, parts...);
}
template <class... P>
[[noreturn]] void fail_index(const P&... parts) {
  fail(ErrorKind::Index, parts...);
}
template <class... P>
[[noreturn]] void fail_missing(const P&... parts) {
  fail(ErrorKind::NotImplemented, parts...);
}

}  // namespace weft
