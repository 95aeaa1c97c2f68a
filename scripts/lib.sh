# What the scripts share: what the machine must have, and the program under test. Source it in the project's root.

# The program under test; $BINARY is another build of it.
binary=${BINARY:-target/release/cbfs}

say() {
    if [[ -t 1 ]]; then printf '\n\033[1m%s\033[0m\n' "$*"; else printf '\n== %s\n' "$*"; fi
}

# install_missing COMMAND=PACKAGE…: installs the packages whose command is not there. Debian keeps some commands out of PATH.
install_missing() {
    local pair packages=()
    for pair; do
        PATH=$PATH:/usr/sbin:/sbin:/usr/games command -v "${pair%%=*}" >/dev/null || packages+=("${pair#*=}")
    done
    if ((${#packages[@]} > 0)); then install_packages "${packages[@]}"; fi
}

# install_what_can COMMAND=PACKAGE…: as install_missing, but what cannot be installed is said and left out.
install_what_can() {
    local pair
    if (install_missing "$@"); then return; fi
    for pair; do (install_missing "$pair") || say "NOT INSTALLED: ${pair#*=}"; done
}

install_packages() {
    say "Installing $*"
    local as_root=()
    if ((EUID != 0)); then as_root=(sudo); fi
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# is_new_enough VERSION: whether that is what Cargo.toml asks for, or later.
is_new_enough() {
    local needed
    needed=$(needed_rust)
    [[ $1 && $(printf '%s\n' "$needed" "$1" | sort -V | head -1) == "$needed" ]]
}

needed_rust() {
    sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml
}

rust_version() {
    rustc --version 2>/dev/null | cut -d' ' -f2 || true
}

# need_cargo: a compiler that is new enough, in PATH. Debian's own is older, but what it builds browsers with is not
# (rustc-web, of its security updates); rustup, which Debian has from version 13 on, gets a newer one too.
need_cargo() {
    local needed has offered
    PATH=~/.cargo/bin:$PATH
    needed=$(needed_rust)
    has=$(rust_version)
    if is_new_enough "$has"; then return; fi
    if command -v apt-cache >/dev/null && ! command -v rustup >/dev/null; then
        offered=$(apt-cache policy rustc-web 2>/dev/null | sed -n 's/^ *Candidate: \([0-9.]*\).*/\1/p')
        if is_new_enough "$offered"; then
            install_packages rustc-web cargo-web
            hash -r
            if is_new_enough "$(rust_version)"; then return; fi
        elif apt-cache show rustup >/dev/null 2>&1; then
            install_packages rustup
        fi
    fi
    if command -v rustup >/dev/null; then
        say "Getting Rust, since cbfs needs $needed or later and here is ${has:-none}"
        rustup toolchain install stable --profile minimal
        export RUSTUP_TOOLCHAIN=stable
        return
    fi
    echo "cbfs needs Rust $needed or later, and here is ${has:-none}: get it from https://rustup.rs, or on Debian 13 by apt install rustup" >&2
    exit 1
}

# build [OPTION…]: the program under test, or another build; a terminal sees how far it is.
build() {
    local quiet=--quiet
    if [[ -t 2 ]]; then quiet=; fi
    if (($# == 0)); then set -- --release; fi
    cargo build $quiet "$@" --locked
}

# find_shared: prints the folder of real bases that is not part of this repository, or nothing.
find_shared() {
    local shared=${CBFS_SHARED:-../shared}
    if [[ -d $shared/bases && -d $shared/truth ]]; then realpath "$shared"; fi
}
