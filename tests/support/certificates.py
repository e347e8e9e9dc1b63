"""Certificates for encrypted connections between workers."""

import shutil
import subprocess

import pytest


def make_certificate(folder):
    """Make a certificate and its key in a folder, and return both paths as text."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    made = "req -x509 -newkey rsa:2048 -nodes -subj /CN=workers -keyout key -out certificate"
    subprocess.run(["openssl", *made.split()], cwd=folder, check=True, capture_output=True)
    return str(folder / "certificate"), str(folder / "key")
