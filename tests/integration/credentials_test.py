#!/usr/bin/env python3
"""Who may come in by which door: credentials_test.py sallyport=PATH"""
import hashlib
import socket
import ssl
import subprocess
import sys
import warnings

from gateway import FIXTURE, LIMIT, Case, Http, code_of, main, tls_context, words_of

INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
              "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}}


class Credentials(Case):
    def odd(self, **config):
        return self.gateway(servers={"odd": {"command": sys.executable, "args": ["-B", FIXTURE]}},
                            trust={"servers": {"odd": {"tools": {"raw": "read"}}}}, **config)

    def test_clients_need_their_own_token(self):
        g = self.odd().start()
        client = g.client()
        for credential in (None, "Bearer ", "Bearer sp_wrong", "Bearer " + g.token("owner"), "Basic " + g.token(), g.token(),
                           "Bearer %s %s" % (g.token(), g.token()), "Bearer " + g.token() + "x"):
            with self.subTest(credential=credential):
                answer = client.post(INITIALIZE, Authorization=credential)
                self.assertEqual(answer.status, 401, answer.body)
                self.assertTrue(answer.headers["WWW-Authenticate"].startswith("Bearer"))
                self.assertNotIn(g.token(), str(answer.headers) + answer.body.decode())
        self.assertEqual(client.post(INITIALIZE).status, 200)
        for line in g.process.lines:
            self.assertNotIn(g.token(), line)

    def test_people_need_theirs(self):
        g = self.odd().start()
        for path in ("/api/v1/approvals", "/api/v1/receipts", "/api/v1/status", "/readyz", "/metrics"):
            for token in (None, "sp_wrong", g.token("client")):
                with self.subTest(path=path, token=token):
                    status, body = g.ask_control("GET", path, token)
                    self.assertIn(status, (401, 403), body)
            self.assertEqual(g.ask_control("GET", path, g.token("owner"))[0], 200)
        self.assertEqual(g.ask_control("GET", "/healthz")[0], 200)
        self.assertIn(g.ask_control("POST", "/api/v1/reload", g.token("client"), {})[0], (401, 403))

    def test_roles_bound_what_a_person_may_do(self):
        g = self.odd(people=[{"id": "user:kim", "tokenSha256": hashlib.sha256(b"kim").hexdigest(), "roles": ["watcher"]}]).start()
        self.assertFalse((g.state / "owner.token").exists())
        self.assertEqual(g.ask_control("GET", "/metrics", "kim")[0], 200)
        self.assertEqual(g.ask_control("GET", "/api/v1/receipts", "kim")[0], 403)
        self.assertEqual(g.ask_control("POST", "/api/v1/reload", "kim", {})[0], 403)

    def test_pages_of_other_origins_and_hosts_are_refused(self):
        g = self.odd().start()
        client = g.client()
        for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Host": "evil.example"}, {"Host": "127.0.0.1.evil.example:80"}):
            with self.subTest(headers=headers):
                self.assertEqual(client.post(INITIALIZE, **headers).status, 403)
        self.assertEqual(client.post(INITIALIZE, Origin="http://" + g.address).status, 200)

    def test_a_session_belongs_to_who_began_it(self):
        tokens = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("one", "two")}
        g = self.odd(clients=[{"id": "agent:" + name, "tokenSha256": digest} for name, digest in tokens.items()]).start()
        mine = Http(g, token="one").connect()
        other = Http(g, token="two")
        other.session, other.version = mine.session, mine.version
        self.assertEqual(other.post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).status, 404)
        other.connection.request("DELETE", "/mcp", headers=other.headers())
        self.assertEqual(other.connection.getresponse().status, 404)
        self.assertTrue(mine.tools())

    def test_anonymous_clients_may_only_read(self):
        g = self.odd(anonymous=True, policy={"default": "deny", "rules": [{"id": "all", "allow": {"server": "odd"}}]}).start()
        client = g.client()
        client.token = "unused"
        client.headers_of = client.headers
        client.headers = lambda **more: client.headers_of(**{"Authorization": None, **more})
        client.connect()
        self.assertIn("arguments", words_of(client.call("odd__raw", {"a": 1})))
        self.assertEqual(code_of(client.call("odd__stderr", {"count": 1})), "POLICY_DENIED")
        self.assertNotIn("isError", g.client().connect().call("odd__stderr", {"count": 1}))

    def certificate(self):
        certificate, key = self.folder / "cert.pem", self.folder / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key),
                        "-out", str(certificate)], check=True, capture_output=True)
        return certificate, key

    def test_tls_by_certificate_files(self):
        certificate, key = self.certificate()
        g = self.odd(listen={"port": 0, "certificate": str(certificate), "key": str(key)}).start()
        self.assertTrue(any("https://" in line for line in g.process.lines))
        host, port = g.address.rsplit(":", 1)
        # One that says nothing and one that speaks plainly hold nobody up.
        silent, plain = g.socket(), g.socket()
        plain.sendall(b"POST /mcp HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n" % (g.address.encode(), g.token().encode()))
        client = Http(g, tls=tls_context(certificate)).connect()
        self.assertIn('"a":1', words_of(client.call("odd__raw", {"a": 1})).replace(" ", ""))
        self.assertEqual(client.post(INITIALIZE, Authorization="Bearer x").status, 401)
        plain.settimeout(LIMIT)
        self.assertNotIn(b"HTTP/1.1 200", plain.recv(4096))
        with self.assertRaises(ssl.SSLCertVerificationError):
            Http(g, tls=ssl.create_default_context()).connect()
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
        old.set_ciphers("ALL:@SECLEVEL=0")
        warnings.simplefilter("ignore", DeprecationWarning)
        old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
        with socket.create_connection((host, int(port)), LIMIT) as raw, self.assertRaises((ssl.SSLError, ConnectionError)):
            old.wrap_socket(raw)
        silent.close()
        self.assertTrue(client.tools())

    def test_a_certificate_that_cannot_be_used_refuses_the_start(self):
        certificate, key = self.certificate()
        other = self.folder / "junk.pem"
        other.write_text("junk")
        for pair in ((certificate, other), (other, key), (self.folder / "none.pem", key)):
            g = self.odd(accept=False, listen={"port": 0, "certificate": str(pair[0]), "key": str(pair[1])}, control={"port": 0})
            done = g.run("serve")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertTrue(any(path.name in done.stderr for path in pair), done.stderr)


if __name__ == "__main__":
    main()
