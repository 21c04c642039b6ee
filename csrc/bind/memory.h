// What the memory tools ask of the files of bind/ that know how objects and nodes belong together.
#pragma once
#include "bind/python.h"

namespace weft {

void show_all_to_collector();     // so that gc.get_objects() has each tensor that Python holds
Node& node_of(PyObject* object);  // of an object of NodeType
void bind_memory(nb::module_& m);

}  // namespace weft
