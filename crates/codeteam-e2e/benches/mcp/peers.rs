//! The SDKs that others build on, installed below `target/peers-mcp`.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::Outcome;

const PYTHON: &str = "mcp==2.3.0";
const TYPESCRIPT: &str = "@modelcontextprotocol/sdk@1.32.2";

const ECHO_PY: &str = r#"
from mcp.server.mcpserver import MCPServer

server = MCPServer("echo")


@server.tool()
def echo() -> str:
    """Says it again."""
    return "hello"


server.run()
"#;

const ECHO_MJS: &str = r"
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';

const server = new McpServer({ name: 'echo', version: '1' });
server.registerTool('echo', { description: 'Says it again.' }, async () => ({
  content: [{ type: 'text', text: 'hello' }],
}));
await server.connect(new StdioServerTransport());
";

/// The paths of the programs.
pub(crate) struct PeerPrograms {
    pub(crate) python: String,
    pub(crate) echo_py: String,
    pub(crate) echo_mjs: String,
}

/// Installs what is not there yet.
pub(crate) fn install() -> Outcome<PeerPrograms> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers-mcp");
    fs::create_dir_all(&folder)?;
    let folder = folder.canonicalize()?;
    let python = folder.join("python/bin/python");
    if !folder.join("python/installed").exists() {
        must(
            Command::new("python3")
                .args(["-m", "venv"])
                .arg(folder.join("python")),
        )?;
        must(Command::new(&python).args(["-m", "pip", "install", "--quiet", PYTHON]))?;
        fs::write(folder.join("python/installed"), PYTHON)?;
    }
    if !folder
        .join("node_modules/@modelcontextprotocol/sdk")
        .exists()
    {
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", TYPESCRIPT]);
        must(npm.arg("--prefix").arg(&folder))?;
    }
    let (echo_py, echo_mjs) = (folder.join("echo.py"), folder.join("echo.mjs"));
    fs::write(&echo_py, ECHO_PY)?;
    fs::write(&echo_mjs, ECHO_MJS)?;
    Ok(PeerPrograms {
        python: python.display().to_string(),
        echo_py: echo_py.display().to_string(),
        echo_mjs: echo_mjs.display().to_string(),
    })
}

fn must(command: &mut Command) -> Outcome<()> {
    let status = command
        .status()
        .map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{command:?} failed: {status}").into())
    }
}
