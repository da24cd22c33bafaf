"""Benchmarks: everything as a ratio measured in one run, on one machine.

``python -m benchmarks`` runs all of them, ``python -m benchmarks solver`` one; each module has a
``main()`` that prints its tables and returns them for ``out/benchmarks/NAME.json``.
"""
