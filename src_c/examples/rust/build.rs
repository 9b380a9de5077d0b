//! Finds the C library: in the folder PRVCORE_LIB_DIR, or where pkg-config says.
use std::env;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=PRVCORE_LIB_DIR");
    let folder = env::var("PRVCORE_LIB_DIR").unwrap_or_else(|_| {
        let found = Command::new("pkg-config").args(["--variable=libdir", "prvcore"]).output();
        let found = found.expect("set PRVCORE_LIB_DIR to the folder of libprvcore, or install pkg-config");
        assert!(found.status.success(), "set PRVCORE_LIB_DIR to the folder of libprvcore");
        String::from_utf8(found.stdout).expect("a path").trim().to_owned()
    });
    println!("cargo:rustc-link-search=native={folder}");
    println!("cargo:rustc-link-lib=dylib=prvcore");
    println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}"); // of this package's own programs
}
