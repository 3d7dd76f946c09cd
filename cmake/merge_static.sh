#!/bin/sh
# merge_static.sh OUT.a LD OBJCOPY NM AR FILE...: one archive of one object, in which only the interface is global.
set -eu
out=$1 ld=$2 objcopy=$3 nm=$4 ar=$5
shift 5
object=${out%.a}_static.o
trap 'rm -f -- "$object" "$object.names"' EXIT

"$ld" -r --force-group-allocation -o "$object" --start-group "$@" --end-group
# GNU's unique symbols cannot be made local, and would merge with those of another protobuf: they get names of their own.
"$nm" --defined-only "$object" | awk '$2 == "u" {print $3, "tf2onnx_private_" $3}' >"$object.names"
"$objcopy" --redefine-syms="$object.names" "$object"
"$objcopy" --wildcard --keep-global-symbol='tf2onnx_*' --keep-global-symbol='_ZN7tf2onnx*' "$object"
rm -f -- "$out"
"$ar" rcs "$out" "$object"
