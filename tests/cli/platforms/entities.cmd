. "$SRC/tests/cli/platforms/damage.sh"
damage "<!DOCTYPE.*" "<!DOCTYPE platform [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"\\\\&a;\\\\&a;\\\\&a;\">]>"; check
