"""Steps: the progress lines, tables and reports that tell them, and the pace and loss that follow from them."""
