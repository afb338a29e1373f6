"""Pure rules over the state: is the run hung, where, who, why. One file per family; `verdict` joins them in one order."""
