// Comparisons, logic and bits.
#include "ops/rows.h"

WEFT_ROWS(compare) {
  auto nowhere = "the result is bool";
  auto bits = "bits have no derivative";

  r.binary({"eq(Tensor input, Tensor|Scalar other) -> Tensor", "Whether input equals other.", Rule::compare, kInplace,
            nowhere},
           types::all, [](auto a, auto b) { return a == b; });
  r.binary({"ne(Tensor input, Tensor|Scalar other) -> Tensor", "Whether input differs from other.", Rule::compare,
            kInplace, nowhere, "not_equal"},
           types::all, [](auto a, auto b) { return a != b; });
  r.binary({"lt(Tensor input, Tensor|Scalar other) -> Tensor", "Whether input is less than other.", Rule::compare,
            kInplace, nowhere, "less"},
           types::real, [](auto a, auto b) { return a < b; });
  r.binary({"le(Tensor input, Tensor|Scalar other) -> Tensor", "Whether input is at most other.", Rule::compare,
            kInplace, nowhere, "less_equal"},
           types::real, [](auto a, auto b) { return a <= b; });
  r.binary({"gt(Tensor input, Tensor|Scalar other) -> Tensor", "Whether input is greater than other.", Rule::compare,
            kInplace, nowhere, "greater"},
           types::real, [](auto a, auto b) { return a > b; });
  r.binary({"ge(Tensor input, Tensor|Scalar other) -> Tensor", "Whether input is at least other.", Rule::compare,
            kInplace, nowhere, "greater_equal"},
           types::real, [](auto a, auto b) { return a >= b; });
  r.binary({"logical_and(Tensor input, Tensor other) -> Tensor", "Whether both are nonzero.", Rule::truth, kInplace,
            nowhere},
           types::List<bool>(), [](auto a, auto b) { return bool(a & b); });
  r.binary({"logical_or(Tensor input, Tensor other) -> Tensor", "Whether at least one is nonzero.", Rule::truth,
            kInplace, nowhere},
           types::List<bool>(), [](auto a, auto b) { return bool(a | b); });
  r.binary({"logical_xor(Tensor input, Tensor other) -> Tensor", "Whether exactly one is nonzero.", Rule::truth,
            kInplace, nowhere},
           types::List<bool>(), [](auto a, auto b) { return a != b; });
  r.binary({"bitwise_and(Tensor|Scalar input, Tensor|Scalar other) -> Tensor", "The bits that both have.",
            Rule::promote, kInplace, bits},
           types::bits, [](auto a, auto b) { return a & b; });
  r.binary({"bitwise_or(Tensor|Scalar input, Tensor|Scalar other) -> Tensor", "The bits that at least one has.",
            Rule::promote, kInplace, bits},
           types::bits, [](auto a, auto b) { return a | b; });
  r.binary({"bitwise_xor(Tensor|Scalar input, Tensor|Scalar other) -> Tensor", "The bits that exactly one has.",
            Rule::promote, kInplace, bits},
           types::bits, [](auto a, auto b) { return a ^ b; });
}
