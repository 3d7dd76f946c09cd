#!/usr/bin/env python3
"""Measures for which element types ONNX Runtime's CPU provider has a kernel of each ONNX operator, and writes
src/onnx/ort_kernels.inc.

    gen_ort_kernels.py src/onnx/ort_kernels.inc     # needs: onnx onnxruntime

For each operator, each version of its schema and each of its type parameters, a model of one node is offered to ONNX Runtime
for each type that the schema allows. Type parameters that are not varied keep a type with which the model loads.
"""
import collections
import itertools
import sys

import onnx
import onnxruntime as ort
from onnx import TensorProto, defs, helper

HIGHEST = 26
CODES = {"float": "f32", "double": "f64", "float16": "f16", "bfloat16": "bf16", "int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16",
         "int32": "i32", "uint32": "u32", "int64": "i64", "uint64": "u64", "bool": "bool", "string": "string", "complex64": "c64",
         "complex128": "c128", "int4": "i4", "uint4": "u4", "int2": "i2", "uint2": "u2", "float8e4m3fn": "f8e4m3fn",
         "float8e4m3fnuz": "f8e4m3fnuz", "float8e5m2": "f8e5m2", "float8e5m2fnuz": "f8e5m2fnuz"}
PREFERRED = ["float", "int64", "int32", "bool", "uint8", "int8", "string", "double"]
SKIPPED = {"If", "Loop", "Scan", "SequenceMap", "Constant", "TfIdfVectorizer", "Optional"}
SAMPLES = {  # required attributes, and those without which inference refuses
    "to": 1, "axis": 0, "kernel_shape": [1, 1], "perm": [0], "k": 1, "size": 1, "blocksize": 1, "scale": 1.0, "equation": "i->i",
    "direction": None, "sample_size": 1, "hidden_size": 1, "pooled_shape": [1, 1], "shape": [1], "high": 1.0, "low": 0.0, "dtype": None,
    "num_heads": 1, "num_groups": 1, "split": None, "pads": [0, 0], "scales": [1.0], "height_scale": 1.0, "width_scale": 1.0}
OVERRIDES = {("BitShift", "direction"): "LEFT", ("RegexFullMatch", "pattern"): "a", ("Upsample", "scales"): [1.0, 1.0], ("Pad", "pads"): [0, 0],
             ("Transpose", "perm"): None, ("Attention", "q_num_heads"): 1, ("Attention", "kv_num_heads"): 1, ("ImageDecoder", "pixel_format"): "RGB",
             ("BitCast", "to"): None, ("Unsqueeze", "axes"): [0],
             ("Slice", "starts"): [0], ("Slice", "ends"): [1], **{(op, "hidden_size"): 1 for op in ("RNN", "GRU", "LSTM")}}
OPTIONAL_INPUTS = {"QuantizeLinear": ["y_zero_point"],  # it says the type of the codes
                   "Resize": ["X", "", "scales"],  # of these: not all are optional at once
                   "Clip": ["min", "max"]}  # without a kernel its function body needs others, but only for bounds that are there
LOADS_BUT_DOES_NOT_RUN = {("GRU", "double"), ("LSTM", "double")}
GIVES_SEQUENCES = {"SplitToSequence"}  # of the elements of its first input
SAME_WIDTH = {"BitCast"}  # their type parameters cannot be varied one by one


def bare(type_string):
    return type_string[7:-1] if type_string.startswith("tensor(") else None


def elem(code):
    return TensorProto.DataType.Value(code.upper())


def attributes(schema, binding):
    out = {}
    for name, a in schema.attributes.items():
        if not a.required and (schema.name, name) not in OVERRIDES:
            continue
        value = OVERRIDES.get((schema.name, name), SAMPLES.get(name))
        if name == "to":
            value = elem(binding.get("T2", "float"))
        if value is not None:
            out[name] = value
    if schema.name in ("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "EyeLike", "Multinomial", "Bernoulli"):
        param = schema.outputs[0].type_str
        out["dtype"] = elem(binding.get(param, "float"))
    if schema.name == "ConstantOfShape":
        out["value"] = helper.make_tensor("v", elem(binding["T2"]), [1], [0])
    if schema.name in ("HannWindow", "HammingWindow", "BlackmanWindow", "MelWeightMatrix"):
        out["output_datatype"] = elem(binding.get(schema.outputs[0].type_str, "float"))
    return out


def loads_at(schema, opset, binding):
    inputs, names = [], []
    for i in schema.inputs:
        optional = i.option == defs.OpSchema.FormalParameterOption.Optional
        if optional and i.name not in OPTIONAL_INPUTS.get(schema.name, ()):
            if schema.name in OPTIONAL_INPUTS and i.name == "roi":
                names.append("")
            continue
        t = binding.get(i.type_str) or bare(i.type_str)
        if t is None:
            return False
        for copy in range(max(2, schema.min_input) if i.option == defs.OpSchema.FormalParameterOption.Variadic else 1):
            names.append(f"{i.name}{copy}")
            inputs.append(helper.make_tensor_value_info(names[-1], elem(t), None))
    outputs = []
    for o in schema.outputs[:max(1, schema.min_output)]:
        if schema.name in GIVES_SEQUENCES:
            outputs.append(helper.make_tensor_sequence_value_info(o.name + "_out", elem(binding[schema.inputs[0].type_str]), None))
            continue
        t = binding.get(o.type_str) or bare(o.type_str)
        if t is None:
            return False
        outputs.append(helper.make_tensor_value_info(o.name + "_out", elem(t), None))
    try:
        node = helper.make_node(schema.name, names, [o.name for o in outputs], domain=schema.domain, **attributes(schema, binding))
        opsets = [helper.make_opsetid("", opset if not schema.domain else HIGHEST)]
        if schema.domain:
            opsets.append(helper.make_opsetid(schema.domain, opset))
        model = helper.make_model(helper.make_graph([node], "g", inputs, outputs), opset_imports=opsets, ir_version=min(13, 8 if opset < 19 and not schema.domain else 13))
        options = ort.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return True
    except Exception as e:
        if "-v" in sys.argv:
            print(schema.name, opset, binding, str(e)[:200], file=sys.stderr)
        return False


def loads(schema, opset, binding):
    """At the first opset with this version of the schema and at the last: an operator without a kernel may be expanded into
    others, and whether these have kernels changes with the opset."""
    later = [s for s in range(opset, HIGHEST + 1) if schema.domain == "" and defs.get_schema(schema.name, s, "").since_version == schema.since_version]
    return all(loads_at(schema, o, binding) for o in {opset, *later[-1:]})


def allowed(param):
    return [b for b in (bare(t) for t in param.allowed_type_strs) if b in CODES]


def varied(schema):
    return [p for p in schema.type_constraints if schema.name not in GIVES_SEQUENCES or allowed(p)]


def base_binding(schema, opset):
    options = []
    for p in varied(schema):
        types = allowed(p)
        if not types:
            return None
        options.append([(p.type_param_str, t) for t in sorted(types, key=lambda t: PREFERRED.index(t) if t in PREFERRED else 99)[:5]])
    for combination in itertools.islice(itertools.product(*options), 200):
        if loads(schema, opset, dict(combination)):
            return dict(combination)
    return None


def main():
    rows = []
    for schema in sorted(defs.get_all_schemas_with_history(), key=lambda s: (s.domain, s.name, s.since_version)):
        if schema.domain != "" or schema.deprecated or schema.name in SKIPPED or schema.since_version > HIGHEST:
            continue
        opset = max(schema.since_version, 7) if not schema.domain else schema.since_version
        current = defs.get_schema(schema.name, opset, schema.domain)
        if current.since_version != schema.since_version or not schema.type_constraints:
            continue
        base = base_binding(schema, opset)
        if base is None:  # sequences and optionals, or no kernel at all
            if all(allowed(p) for p in schema.type_constraints) and not any("seq" in t for p in schema.type_constraints for t in p.allowed_type_strs):
                for p in schema.type_constraints:
                    rows.append((schema.name, schema.since_version, p.type_param_str, []))
            continue
        for p in varied(schema):
            others = base if schema.name in SAME_WIDTH else {}
            good = [t for t in allowed(p) if loads(schema, opset, {**base, **dict.fromkeys(others, t), p.type_param_str: t})
                    and (schema.name, t) not in LOADS_BUT_DOES_NOT_RUN]
            rows.append((schema.name, schema.since_version, p.type_param_str, good))
    with open(sys.argv[1], "w") as f:
        f.write(f"// Made by scripts/gen_ort_kernels.py with ONNX Runtime {ort.__version__} and onnx {onnx.__version__}. Not to be edited.\n")
        for name, since, param, types in rows:
            names = " ".join(CODES[t] for t in sorted(types, key=list(CODES).index))
            f.write(f'{{"{name}", {since}, "{param}", "{names}"}},\n')
    print(len(rows), "rows,", collections.Counter(bool(r[3]) for r in rows))


if __name__ == "__main__":
    main()
