"""An encoder of ChessBase databases that shares nothing with the reader it tests."""
