grep -v '"ss\.\(template\|nodes\|nodes_per_leaf\|oversubscription\|nics_per_node\)"' "$SRC/platforms/h800.xml" > mine.xml; "$STEPSIM" platform show mine.xml --gpus-per-node 4
