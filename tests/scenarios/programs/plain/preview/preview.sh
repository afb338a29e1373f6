# Shows the newest samples on a small page.
cat > serve.sh <<'END'
PORT=$(python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
exec python -m http.server --bind 127.0.0.1 --directory data "$PORT"
END
exec bash serve.sh
