"""The doors that programs and screens come in by. A door submits and watches; it decides nothing about a turn."""
