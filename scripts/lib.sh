# What the scripts share: what the machine must have, and the program under test. Source it in the project's root.

binary=target/release/cbfs

say() {
    if [[ -t 1 ]]; then printf '\n\033[1m%s\033[0m\n' "$*"; else printf '\n== %s\n' "$*"; fi
}

# install_missing COMMAND=PACKAGE…: installs the packages whose command is not there. Debian keeps some commands out of PATH.
install_missing() {
    local pair packages=()
    for pair; do
        PATH=$PATH:/usr/sbin:/sbin:/usr/games command -v "${pair%%=*}" >/dev/null || packages+=("${pair#*=}")
    done
    if ((${#packages[@]} > 0)); then install "${packages[@]}"; fi
}

# install_what_can COMMAND=PACKAGE…: as install_missing, but what cannot be installed is said and left out.
install_what_can() {
    local pair
    if (install_missing "$@"); then return; fi
    for pair; do (install_missing "$pair") || say "NOT INSTALLED: ${pair#*=}"; done
}

install() {
    say "Installing $*"
    local as_root=()
    if ((EUID != 0)); then as_root=(sudo); fi
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

need_cargo() {
    PATH=$PATH:~/.cargo/bin
    if ! command -v cargo >/dev/null; then
        echo "cargo is missing: install Rust 1.95 or later, for example from https://rustup.rs" >&2
        exit 1
    fi
}

build() { cargo build --quiet --release --locked; }

# find_shared: prints the folder of real bases that is not part of this repository, or nothing.
find_shared() {
    local shared=${CBFS_SHARED:-../shared}
    if [[ -d $shared/bases && -d $shared/truth ]]; then realpath "$shared"; fi
}
