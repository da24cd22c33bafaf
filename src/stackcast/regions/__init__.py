"""The geometry of best responses: polytopes, margins, inscribed balls, sampling."""
