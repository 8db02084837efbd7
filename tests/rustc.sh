#!/bin/sh
# The compiler of this workspace's packages (.cargo/config.toml). Programs of tests are compiled without optimisation and
# with its checks of overflow and assertions; the libraries that they test are as in the binary (decision 54). Clippy's
# compiler makes them, where the toolchain has it: unit tests hold the code of their package, so that nothing has to be
# checked a second time.
for argument; do
    if [ "$argument" = --test ]; then
        clippy=$(command -v "${1%rustc}clippy-driver") || clippy=
        exec ${clippy:+"$clippy"} "$@" -C opt-level=0 -C debug-assertions=on
    fi
done
exec "$@"
