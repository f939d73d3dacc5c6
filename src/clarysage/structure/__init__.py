"""Structure of models: linear forms, trees and networks whose restricted predictions cost less than model calls."""
