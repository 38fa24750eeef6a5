# The command line in a container, without root:
#   docker build -t nuggeteer .
#   docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/collection" nuggeteer nightly tonight
FROM python:3.12-slim AS build
COPY . /source
RUN python -m venv --without-pip /opt/nuggeteer
RUN pip --python /opt/nuggeteer/bin/python install --no-cache-dir --disable-pip-version-check /source

FROM python:3.12-slim
COPY --from=build /opt/nuggeteer /opt/nuggeteer
RUN useradd --uid 1000 --create-home nuggeteer
ENV PATH="/opt/nuggeteer/bin:$PATH"
USER nuggeteer
WORKDIR /collection
ENTRYPOINT ["nuggeteer"]
CMD ["--help"]
