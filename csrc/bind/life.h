// The Python objects of tensors: see life.cpp.
#pragma once
#include "bind/python.h"

namespace weft {

// The slots of the Tensor type.
void tensor_dealloc(PyObject* self);
void tensor_finalize(PyObject* self);
int tensor_traverse(PyObject* self, visitproc visit, void* arg);
int tensor_clear(PyObject* self);
int tensor_setattr(PyObject* self, PyObject* name, PyObject* value);

// The same for objects of nodes.
int traverse_owned(Node* n, visitproc visit, void* arg);
bool owns_alone(Node* n);  // a node whose Python object is its only owner

void track(void* pyobj);  // shows a tensor's object to the collector: it may be part of a cycle now
void bind_life();

}  // namespace weft
