//! The standard libraries of languages, and packages that are imported under another name than
//! their own.

/// The modules of Python's standard library, sorted.
#[rustfmt::skip]
const PYTHON: &[&str] = &[
    "__future__", "_thread", "_typeshed", "abc", "aifc", "annotationlib", "antigravity",
    "argparse", "array", "ast", "asynchat", "asyncio", "asyncore", "atexit", "audioop",
    "base64", "bdb", "binascii", "bisect", "builtins", "bz2", "cProfile", "calendar", "cgi",
    "cgitb", "chunk", "cmath", "cmd", "code", "codecs", "codeop", "collections", "colorsys",
    "compileall", "compression", "concurrent", "configparser", "contextlib", "contextvars",
    "copy", "copyreg", "crypt", "csv", "ctypes", "curses", "dataclasses", "datetime", "dbm",
    "decimal", "difflib", "dis", "distutils", "doctest", "email", "encodings", "ensurepip",
    "enum", "errno", "faulthandler", "fcntl", "filecmp", "fileinput", "fnmatch",
    "fractions", "ftplib", "functools", "gc", "genericpath", "getopt", "getpass", "gettext",
    "glob", "graphlib", "grp", "gzip", "hashlib", "heapq", "hmac", "html", "http",
    "idlelib", "imaplib", "imghdr", "imp", "importlib", "inspect", "io", "ipaddress",
    "itertools", "json", "keyword", "lib2to3", "linecache", "locale", "logging", "lzma",
    "mailbox", "mailcap", "marshal", "math", "mimetypes", "mmap", "modulefinder", "msilib",
    "msvcrt", "multiprocessing", "netrc", "nis", "nntplib", "nt", "ntpath", "nturl2path",
    "numbers", "opcode", "operator", "optparse", "os", "ossaudiodev", "pathlib", "pdb",
    "pickle", "pickletools", "pipes", "pkgutil", "platform", "plistlib", "poplib", "posix",
    "posixpath", "pprint", "profile", "pstats", "pty", "pwd", "py_compile", "pyclbr",
    "pydoc", "pydoc_data", "pyexpat", "queue", "quopri", "random", "re", "readline",
    "reprlib", "resource", "rlcompleter", "runpy", "sched", "secrets", "select",
    "selectors", "shelve", "shlex", "shutil", "signal", "site", "smtpd", "smtplib",
    "sndhdr", "socket", "socketserver", "spwd", "sqlite3", "sre_compile", "sre_constants",
    "sre_parse", "ssl", "stat", "statistics", "string", "stringprep", "struct",
    "subprocess", "sunau", "symtable", "sys", "sysconfig", "syslog", "tabnanny", "tarfile",
    "telnetlib", "tempfile", "termios", "textwrap", "this", "threading", "time", "timeit",
    "tkinter", "token", "tokenize", "tomllib", "trace", "traceback", "tracemalloc", "tty",
    "turtle", "turtledemo", "types", "typing", "unicodedata", "unittest", "urllib", "uu",
    "uuid", "venv", "warnings", "wave", "weakref", "webbrowser", "winreg", "winsound",
    "wsgiref", "xdrlib", "xml", "xmlrpc", "zipapp", "zipfile", "zipimport", "zlib",
    "zoneinfo",
];

/// The built-in modules of Node, sorted.
#[rustfmt::skip]
const NODE: &[&str] = &[
    "assert", "async_hooks", "buffer", "child_process", "cluster", "console", "constants",
    "crypto", "dgram", "diagnostics_channel", "dns", "domain", "events", "fs", "http",
    "http2", "https", "inspector", "module", "net", "os", "path", "perf_hooks", "process",
    "punycode", "querystring", "readline", "repl", "stream", "string_decoder", "sys",
    "test", "timers", "tls", "trace_events", "tty", "url", "util", "v8", "vm", "wasi",
    "worker_threads", "zlib",
];

/// Python packages whose module has another name, sorted.
const RENAMED: &[(&str, &str)] = &[
    ("attrs", "attr"),
    ("beautifulsoup4", "bs4"),
    ("discord.py", "discord"),
    ("djangorestframework", "rest_framework"),
    ("faiss_cpu", "faiss"),
    ("gitpython", "git"),
    ("msgpack_python", "msgpack"),
    ("mysqlclient", "MySQLdb"),
    ("opencv_python", "cv2"),
    ("opencv_python_headless", "cv2"),
    ("pillow", "PIL"),
    ("protobuf", "google"),
    ("psycopg2_binary", "psycopg2"),
    ("pycryptodome", "Crypto"),
    ("pyjwt", "jwt"),
    ("pyopenssl", "OpenSSL"),
    ("pyserial", "serial"),
    ("pytest", "_pytest"),
    ("python_dateutil", "dateutil"),
    ("python_dotenv", "dotenv"),
    ("python_jose", "jose"),
    ("python_multipart", "multipart"),
    ("python_rapidjson", "rapidjson"),
    ("python_slugify", "slugify"),
    ("python_telegram_bot", "telegram"),
    ("pywin32", "win32api"),
    ("pyyaml", "yaml"),
    ("pyzmq", "zmq"),
    ("scikit_image", "skimage"),
    ("scikit_learn", "sklearn"),
    ("setuptools", "pkg_resources"),
    ("ta_lib", "talib"),
    ("websocket_client", "websocket"),
];

/// Returns true for modules of Python's standard library.
pub(super) fn is_python_library(module: &str) -> bool {
    PYTHON.binary_search(&module).is_ok()
}

/// Returns true for built-in modules of Node.
pub(super) fn is_node_library(module: &str) -> bool {
    let first = module.split('/').next().unwrap_or("");
    module.starts_with("node:") || NODE.binary_search(&first).is_ok()
}

/// Returns the module that a Python package provides, if its name differs.
pub(super) fn module_of_package(package: &str) -> Option<&'static str> {
    let at = RENAMED.binary_search_by_key(&package, |(package, _)| package);
    at.ok().map(|at| RENAMED[at].1)
}

/// Returns true for crates that come with Rust.
pub(super) fn is_rust_library(name: &str) -> bool {
    matches!(name, "std" | "core" | "alloc" | "proc_macro" | "test")
}

/// Prefixes of packages that come with Java or are universally known.
const JAVA: &[&str] = &[
    "com.sun",
    "jakarta",
    "java",
    "javax",
    "jdk",
    "kotlin",
    "org.assertj",
    "org.hamcrest",
    "org.junit",
    "org.mockito",
    "org.slf4j",
    "org.w3c",
    "org.xml",
    "sun",
];

/// Returns true for packages that come with Java or are universally known.
pub(super) fn is_java_library(package: &str) -> bool {
    JAVA.iter().any(|known| {
        let rest = package.strip_prefix(known);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_in_order() {
        assert!(PYTHON.is_sorted());
        assert!(NODE.is_sorted());
        assert!(RENAMED.is_sorted());
        assert!(is_python_library("os") && !is_python_library("redis"));
        assert!(
            is_node_library("fs/promises")
                && is_node_library("node:test/x")
                && !is_node_library("react")
        );
        assert_eq!(module_of_package("pyyaml"), Some("yaml"));
    }
}
