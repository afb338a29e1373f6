"""Reading a training log, pure: bytes in, frozen records out. No file is opened and no clock is read here."""
