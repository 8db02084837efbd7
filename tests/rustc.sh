#!/bin/sh
# The compiler of this workspace's packages (.cargo/config.toml). Programs of tests are compiled without optimisation and
# with its checks of overflow and assertions; the libraries that they test are as in the binary (decision 54).
for argument; do
    [ "$argument" != --test ] || exec "$@" -C opt-level=0 -C debug-assertions=on
done
exec "$@"
