. "$SRC/tests/cli/platforms/damage.sh"
sed -e "s/<platform /<plattform /" -e "s/<.platform>/<\/plattform>/" "$SRC/platforms/h800.xml" > bad.xml; echo 3 > line; check
