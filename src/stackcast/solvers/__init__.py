"""The one-shot game with full information: V*, optimal and margin-robust commitments."""
