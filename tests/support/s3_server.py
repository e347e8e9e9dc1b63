"""A store that speaks S3, on this machine; its packages are in .ci/nightly."""

from contextlib import contextmanager


@contextmanager
def s3_server(bucket):
    """Start a server with an empty bucket; yield its address, and a file system of s3fs."""
    import s3fs
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    try:
        host, port = "127.0.0.1", server.get_host_and_port()[1]
        options = {"key": "a", "secret": "b"}
        options["client_kwargs"] = {"endpoint_url": f"http://{host}:{port}"}
        files = s3fs.S3FileSystem(**options)
        files.mkdir(bucket)
        yield f"{host}:{port}", files, options
    finally:
        server.stop()
