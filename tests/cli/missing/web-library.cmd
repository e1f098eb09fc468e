# A module whose library is not installed: the name in it is changed to one that is nowhere
sed 's/libmicrohttpd\.so/libmicrohttpd.no/' "$(dirname "$STEPSIM")/stepsim-http.so" > stepsim-http.so; STEPSIM_MODULE_DIR=$PWD "$STEPSIM" serve --port 0
