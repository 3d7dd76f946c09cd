"""Writes TensorFlow Lite files tensor by tensor, for operators that no converter makes."""
import flatbuffers
import numpy as np
from tensorflow.lite.python import schema_py_generated as schema

TYPES = {"float32": schema.TensorType.FLOAT32, "int32": schema.TensorType.INT32, "int64": schema.TensorType.INT64,
         "int8": schema.TensorType.INT8, "uint8": schema.TensorType.UINT8, "int16": schema.TensorType.INT16,
         "bool": schema.TensorType.BOOL, "uint64": schema.TensorType.UINT64, "uint32": schema.TensorType.UINT32,
         "resource": schema.TensorType.RESOURCE}


def options(table, **fields):
    """The options `table` of an operator, as (number of the table's type, table)."""
    t = getattr(schema, table + "T")()
    for name, value in fields.items():
        if not hasattr(t, name):
            raise ValueError(f"{table} has no {name}")
        setattr(t, name, value)
    return t


class Graph:
    """A subgraph; its methods return the numbers of tensors."""

    def __init__(self, file, name):
        self.file, self.g = file, schema.SubGraphT()
        self.g.name, self.g.tensors, self.g.operators, self.g.inputs, self.g.outputs = name, [], [], [], []

    def tensor(self, name, shape, dtype="float32", data=None, variable=False, scale=None, zero_point=0, axis=0, beside=False):
        t = schema.TensorT()
        t.name, t.shape, t.type, t.isVariable, t.buffer = name, list(shape), TYPES[str(dtype)], variable, 0
        if any(d is None for d in shape):
            t.shapeSignature, t.shape = [-1 if d is None else d for d in shape], [1 if d is None else d for d in shape]
        if beside:
            t.externalBuffer = self.file.external(np.asarray(data, dtype).tobytes())
        elif data is not None:
            t.buffer = self.file.buffer(np.asarray(data, None if dtype == "resource" else dtype).tobytes())
        if scale is not None:
            q = schema.QuantizationParametersT()
            scales = np.atleast_1d(np.asarray(scale, "float32"))
            q.scale, q.zeroPoint, q.quantizedDimension = scales.tolist(), [zero_point] * len(scales), axis
            t.quantization = q
        self.g.tensors.append(t)
        return len(self.g.tensors) - 1

    def const(self, data, dtype="float32", name=None, **more):
        data = np.asarray(data, dtype)
        return self.tensor(name or f"c{len(self.g.tensors)}", data.shape, dtype, data, **more)

    def input(self, name, shape, dtype="float32", **more):
        i = self.tensor(name, shape, dtype, **more)
        self.g.inputs.append(i)
        return i

    def op(self, builtin, inputs, outputs, opts=None, custom=None, custom_options=None):
        o = schema.OperatorT()
        o.opcodeIndex, o.inputs, o.outputs = self.file.code(builtin, custom), list(inputs), list(outputs)
        if opts is not None:
            name = type(opts).__name__[:-1]
            if hasattr(schema.BuiltinOptions, name):
                o.builtinOptionsType, o.builtinOptions = getattr(schema.BuiltinOptions, name), opts
            else:
                o.builtinOptions2Type, o.builtinOptions2 = getattr(schema.BuiltinOptions2, name), opts
        if custom_options is not None:
            o.customOptions = list(custom_options)
        self.g.operators.append(o)
        return outputs[0] if outputs else None

    def outputs(self, *tensors):
        self.g.outputs = list(tensors)


class File:
    def __init__(self):
        self.m = schema.ModelT()
        self.m.version, self.m.subgraphs, self.m.operatorCodes = 3, [], []
        self.m.buffers = [schema.BufferT()]
        self.m.externalBuffers, self.m.externalBufferGroups = [], []
        self.weights, self.weights_name = b"", ""
        self.codes = {}

    def buffer(self, data):
        b = schema.BufferT()
        b.data = np.frombuffer(data, "uint8")
        self.m.buffers.append(b)
        return len(self.m.buffers) - 1

    def external(self, data):
        """The number of data in the file `weights_name`, which stands beside the model; `weights` is to be written there."""
        b = schema.ExternalBufferT()
        b.id, b.offset, b.length, b.packing = 0x80000000 | len(self.m.externalBuffers), len(self.weights), len(data), "unpacked"
        self.weights += data + bytes(-len(data) % 64)
        self.m.externalBuffers.append(b)
        if not self.m.externalBufferGroups:
            self.m.externalBufferGroups.append(schema.ExternalBufferGroupT())
            self.m.externalBufferGroups[0].name = self.weights_name
        return b.id

    def code(self, builtin, custom):
        if (builtin, custom) not in self.codes:
            c = schema.OperatorCodeT()
            c.builtinCode = getattr(schema.BuiltinOperator, builtin)
            c.deprecatedBuiltinCode, c.customCode, c.version = min(c.builtinCode, 127), custom, 1
            self.m.operatorCodes.append(c)
            self.codes[builtin, custom] = len(self.m.operatorCodes) - 1
        return self.codes[builtin, custom]

    def graph(self, name="main"):
        g = Graph(self, name)
        self.m.subgraphs.append(g.g)
        return g

    def bytes(self):
        b = flatbuffers.Builder(1024)
        b.Finish(self.m.Pack(b), b"TFL3")
        return bytes(b.Output())
