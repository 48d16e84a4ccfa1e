"""A template engine that is not Django's."""

from django.template.backends.base import BaseEngine


class Shouting(BaseEngine):
    """Every template is its word, and what it was given."""

    app_dirname = "shouting"

    def __init__(self, params):
        params = dict(params)
        self.word = params.pop("OPTIONS")["word"]
        super().__init__(params)

    def get_template(self, template_name):
        return self

    def render(self, context):
        return f"{self.word.upper()} {context}\n"
