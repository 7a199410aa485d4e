"""This inner room fetches lines of open DRAM rows into L2 before anybody asks for them."""
