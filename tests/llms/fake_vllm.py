"""A replacement for the program `vllm`: `fake_vllm.py serve MODEL --port N ...` answers with its own arguments.

The model's name decides whether it dies immediately ("dies"), never becomes healthy ("hangs"), or ends later ("quits").
"""

import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(404 if "hangs" in sys.argv[2] else 200)
        if quits := "quits" in sys.argv[2]:
            self.server.socket.close()
        self.end_headers()
        if quits:
            os._exit(1)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        message = {"role": "assistant", "content": " ".join([asked["model"], *sys.argv[1:]])}
        usage = {"prompt_tokens": 3, "completion_tokens": 2}
        body = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    sys.stderr.write(f"loading {Path(sys.argv[2]).name}\n")
    if "dies" in sys.argv[2]:
        sys.exit("CUDA out of memory")
    time.sleep(0.2)
    port = int(sys.argv[sys.argv.index("--port") + 1])
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
